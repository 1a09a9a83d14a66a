#include "estimator/internal/signals.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigaction is not in <csignal>

#include <atomic>
#include <mutex>

namespace belfry::internal {
namespace {

std::atomic<int> noted{0};  // lock-free, so a handler may write it
static_assert(std::atomic<int>::is_always_lock_free);

void note(int signal) { noted = signal; }

// One of the two signals, and what it did before.
struct Handler {
  int signal;
  bool taken = false;
  struct sigaction before = {};

  void install() {
    sigaction(signal, nullptr, &before);
    taken = before.sa_handler != SIG_IGN;
    if (!taken) return;
    struct sigaction action = {};
    action.sa_handler = note;
    // SA_RESETHAND: a second signal ends a process that does not come to its next step.
    action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
  }

  void restore() const {
    if (taken) sigaction(signal, &before, nullptr);
  }
};

std::mutex mutex;  // guards all below
int watches = 0;
bool acknowledged = false;
Handler handlers[] = {{SIGINT}, {SIGTERM}};

}  // namespace

SignalWatch::SignalWatch(bool enabled) : enabled_(enabled) {
  if (!enabled) return;
  const std::lock_guard lock(mutex);
  if (watches++ > 0) return;
  noted = 0;
  acknowledged = false;
  for (Handler& handler : handlers) handler.install();
}

SignalWatch::~SignalWatch() {
  if (!enabled_) return;
  int unheard = 0;
  {
    const std::lock_guard lock(mutex);
    if (--watches > 0) return;
    for (const Handler& handler : handlers) handler.restore();
    if (!acknowledged) unheard = noted;
  }
  if (unheard != 0) raise(unheard);
}

int SignalWatch::received() const { return enabled_ ? noted.load() : 0; }

void SignalWatch::acknowledge() {
  const std::lock_guard lock(mutex);
  acknowledged = true;
}

}  // namespace belfry::internal
