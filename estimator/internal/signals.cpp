#include "estimator/internal/signals.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigaction is not in <csignal>

#include <atomic>

namespace belfry::internal {
namespace {

std::atomic<bool> installed{false};
std::atomic<int> noted{0};  // lock-free, so a handler may write it
static_assert(std::atomic<int>::is_always_lock_free);
struct sigaction before_int;
struct sigaction before_term;

// SA_RESETHAND gives the default action back, so that a second signal ends a process that does not come to its next
// step.
void note(int signal) { noted = signal; }

}  // namespace

SignalWatch::SignalWatch(bool enabled) {
  if (!enabled || installed.exchange(true)) return;
  owner_ = true;
  noted = 0;
  struct sigaction action = {};
  action.sa_handler = note;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &before_int);
  sigaction(SIGTERM, &action, &before_term);
}

SignalWatch::~SignalWatch() {
  if (!owner_) return;
  sigaction(SIGINT, &before_int, nullptr);
  sigaction(SIGTERM, &before_term, nullptr);
  installed = false;
}

int SignalWatch::received() const { return owner_ ? noted.load() : 0; }

}  // namespace belfry::internal
