#include "distribute/replica_group.h"

#include <ATen/ThreadLocalState.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/log.h"
#include "distribute/internal/intra_op_threads.h"
#include "distribute/internal/spin.h"

namespace belfry {
namespace {

// A number that one thread moves and others wait for: spin for a while, then sleep.
class Signal {
 public:
  unsigned load() const { return value_.load(std::memory_order_acquire); }
  void add(unsigned n) {
    value_.fetch_add(n, std::memory_order_acq_rel);
    value_.notify_all();
  }
  // Returns once the value differs from `seen`.
  void wait_change(unsigned seen, int spins) const {
    for (int i = 0; i < spins && load() == seen; ++i) internal::cpu_relax();
    while (load() == seen) value_.wait(seen, std::memory_order_acquire);
  }

 private:
  std::atomic<unsigned> value_{0};
};

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const c10::Error& e) {
    return e.what_without_backtrace();
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an exception of an unknown type";
  }
}

}  // namespace

class ReplicaGroup::Impl {
 public:
  Impl(int replicas, const std::string& noun)
      : noun_(noun),
        rendezvous_(replicas, noun),
        errors_(static_cast<size_t>(replicas)),
        spins_(internal::spins_for(replicas)) {
    try {
      for (int i = 1; i < replicas; ++i) threads_.emplace_back([this, i] { serve(i); });
    } catch (const std::exception& error) {
      const size_t made = threads_.size();
      end_threads();
      fail(ErrorKind::kIo, "of ", replicas, " ", noun_, "s, each on its thread, only ", made + 1,
           " could be made: ", error.what());
    }
  }

  ~Impl() { end_threads(); }

  int size() const { return static_cast<int>(errors_.size()); }
  Rendezvous& rendezvous() { return rendezvous_; }

  void run(int active, const std::function<void(int)>& work) {
    require(active >= 1 && active <= size(), "ReplicaGroup: ", active, " active replicas of ", size());
    first_failed_ = -1;
    rendezvous_.reset(active);
    if (active == 1) {
      work(0);
      return;
    }
    work_ = &work;
    active_ = active;
    intra_op_ = std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / active);
    state_.emplace();
    const unsigned ended = ended_.load();
    start_.add(1);
    run_one(0);
    for (unsigned seen = ended_.load(); seen != ended + threads_.size(); seen = ended_.load()) {
      ended_.wait_change(seen, spins_);
    }
    state_.reset();
    rethrow();
  }

 private:
  void end_threads() {
    stop_ = true;
    start_.add(1);
    for (std::thread& thread : threads_) thread.join();
  }

  void serve(int replica) {
    for (unsigned seen = 0;; ++seen) {
      start_.wait_change(seen, spins_);
      if (stop_) return;
      if (replica < active_) run_one(replica);
      ended_.add(1);
    }
  }

  void run_one(int replica) {
    const at::ThreadLocalStateGuard state(*state_);
    const internal::IntraOpThreads threads(intra_op_);
    try {
      (*work_)(replica);
    } catch (...) {
      errors_[static_cast<size_t>(replica)] = std::current_exception();
      int nobody = -1;
      first_failed_.compare_exchange_strong(nobody, replica);
      rendezvous_.poison(replica);
    }
    rendezvous_.leave(replica);
  }

  void rethrow() {
    if (first_failed_ < 0) return;
    // The first failure was nobody else's doing. A tower that was stopped may throw what it likes: its own error, too.
    size_t failed = static_cast<size_t>(first_failed_.load());
    for (size_t i = errors_.size(); i-- > 0;) {
      if (errors_[i] && !rendezvous_.was_stopped(static_cast<int>(i))) failed = i;
    }
    const std::exception_ptr error = errors_[failed];
    std::fill(errors_.begin(), errors_.end(), nullptr);
    log_warning(noun_, " ", failed, " failed: ", text_of(error));
    std::rethrow_exception(error);
  }

  const std::string noun_;
  Rendezvous rendezvous_;
  std::vector<std::exception_ptr> errors_;
  std::atomic<int> first_failed_{-1};
  const int spins_;
  const std::function<void(int)>* work_ = nullptr;
  int active_ = 0;
  int intra_op_ = 1;
  std::optional<at::ThreadLocalState> state_;
  std::atomic<bool> stop_{false};
  Signal start_;
  Signal ended_;
  std::vector<std::thread> threads_;
};

ReplicaGroup::ReplicaGroup(int replicas, const std::string& noun) {
  require(replicas >= 1, "ReplicaGroup: ", replicas, " replicas; at least 1 is wanted");
  impl_ = std::make_unique<Impl>(replicas, noun);
}
ReplicaGroup::~ReplicaGroup() = default;
int ReplicaGroup::size() const { return impl_->size(); }
Rendezvous& ReplicaGroup::rendezvous() { return impl_->rendezvous(); }
void ReplicaGroup::run(int active, const std::function<void(int)>& work) { impl_->run(active, work); }

}  // namespace belfry
