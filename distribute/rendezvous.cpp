#include "distribute/rendezvous.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/log.h"
#include "distribute/internal/site_order.h"
#include "distribute/internal/spin.h"

namespace belfry {
namespace {

enum class Doing { kAbsent, kRunning, kInSum, kInExchange, kLeft };

struct Seat {
  Doing doing = Doing::kRunning;
  bool left_sums = false;
  bool stopped = false;       // was told of another replica's failure
  CallSite site;              // while in a sum
  std::string what;           // while in an exchange
  Rendezvous::Payload value;  // while in an exchange
  std::string error;          // set by whoever ended the wait with one
  bool served = false;
  double sum = 0;
  std::vector<Rendezvous::Payload> values;
};

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

// The k-th call of one tower meets the k-th of another. That is right for a loop that goes round more often in one, and
// wrong where a tower leaves out one of several. Said once for each place.
void warn_of_pairing(const internal::SiteOrder::Uneven& calls, const std::string& noun) {
  static std::mutex mutex;
  static std::set<std::pair<std::string, uint32_t>> told;
  {
    const std::lock_guard lock(mutex);
    if (!told.emplace(calls.place.file, calls.place.line).second) return;
  }
  log_warning("the loss at ", calls.place.file, ":", calls.place.line, " was called ", calls.more_times, " times in ",
              noun, " ", calls.more, " and ", calls.fewer_times, " times in ", noun, " ", calls.fewer,
              " of one step. The first calls of all ", noun, "s are taken for one loss, then the second ones, and so ",
              "on. Where a ", noun, " leaves out another than the last ones, that is wrong: call the loss in every ",
              noun, ", since over no rows it is 0");
}

}  // namespace

class Rendezvous::State {
 public:
  State(int replicas, std::string noun)
      : noun_(std::move(noun)),
        seats_(static_cast<size_t>(replicas)),
        order_(replicas),
        spins_(internal::spins_for(replicas)) {}

  void reset(int active) {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < seats_.size(); ++i) {
      seats_[i] = Seat();
      if (i >= static_cast<size_t>(active)) seats_[i].doing = Doing::kAbsent;
    }
    active_ = active;
    posted_.clear();
    passed_.clear();
    order_.begin_step();
    failed_.reset();
  }

  double sum(int replica, const CallSite& site, double value) {
    Seat& seat = seats_[static_cast<size_t>(replica)];
    std::unique_lock lock(mutex_);
    check_poison(seat);
    order_.note(replica, site);
    if (passed_.contains(site)) {
      fail(ErrorKind::kFailedPrecondition, noun_, " ", replica, " reached the loss at ", to_string(site),
           " after the other ", noun_, "s had gone past it: call losses in the same order in every ", noun_);
    }
    posted_[site].emplace_back(replica, value);
    seat.doing = Doing::kInSum;
    seat.site = site;
    wait(lock, seat);
    return seat.sum;
  }

  std::vector<Payload> exchange(int replica, const std::string& what, Payload value,
                                std::optional<double> timeout_seconds) {
    Seat& seat = seats_[static_cast<size_t>(replica)];
    std::unique_lock lock(mutex_);
    check_poison(seat);
    seat.doing = Doing::kInExchange;
    seat.what = what;
    seat.value = std::move(value);
    Deadline deadline;
    constexpr double kForEver = 1e9;  // seconds; more would not fit into a point in time
    if (timeout_seconds && *timeout_seconds < kForEver) {
      const std::chrono::duration<double> timeout(*timeout_seconds);
      deadline = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(timeout);
    }
    wait(lock, seat, deadline);
    return std::move(seat.values);
  }

  void leave_sums(int replica) {
    std::vector<internal::SiteOrder::Uneven> uneven;
    {
      const std::lock_guard lock(mutex_);
      seats_[static_cast<size_t>(replica)].left_sums = true;
      advance();
      if (!failed_ && std::none_of(seats_.begin(), seats_.end(), in_sums)) uneven = order_.uneven(active_);
    }
    for (const auto& calls : uneven) warn_of_pairing(calls, noun_);
  }

  void leave(int replica) {
    const std::lock_guard lock(mutex_);
    seats_[static_cast<size_t>(replica)].doing = Doing::kLeft;
    advance();
  }

  void poison(int failed) {
    const std::lock_guard lock(mutex_);
    if (!failed_) failed_ = failed;
    wake();
  }

  bool was_stopped(int replica) {
    const std::lock_guard lock(mutex_);
    return seats_[static_cast<size_t>(replica)].stopped;
  }

 private:
  void check_poison(Seat& seat) const {
    if (!failed_) return;
    seat.stopped = true;
    fail(ErrorKind::kAborted, "stopped because ", noun_, " ", *failed_, " failed");
  }

  // Called with the lock held after the seat says what it waits for.
  void wait(std::unique_lock<std::mutex>& lock, Seat& seat, const Deadline& deadline = {}) {
    seat.served = false;
    seat.error.clear();
    advance();
    while (!seat.served && !failed_) {
      const unsigned seen = epoch_.load(std::memory_order_relaxed);
      lock.unlock();
      for (int i = 0; i < spins_ && epoch_.load(std::memory_order_acquire) == seen; ++i) internal::cpu_relax();
      lock.lock();
      const auto is_changed = [&] { return epoch_.load(std::memory_order_relaxed) != seen; };
      if (!deadline) {
        changed_.wait(lock, is_changed);
      } else if (!changed_.wait_until(lock, *deadline, is_changed)) {
        serve_late(seat);
      }
    }
    if (!seat.served) check_poison(seat);
    seat.doing = Doing::kRunning;
    if (!seat.error.empty()) throw_error(ErrorKind::kFailedPrecondition, seat.error);
  }

  void wake() {
    epoch_.fetch_add(1, std::memory_order_release);
    changed_.notify_all();
  }

  // The wait of this seat has lasted too long: it ends for all that wait.
  void serve_late(const Seat& late) {
    std::string missing;
    for (size_t i = 0; i < seats_.size(); ++i) {
      if (seats_[i].doing != Doing::kRunning) continue;
      missing += concat(missing.empty() ? "" : ", ", noun_, " ", i);
    }
    const std::string error =
        concat(late.what, ": ", missing, " did not come within timeout_seconds; the others have waited in vain");
    for (Seat& seat : seats_) {
      if (seat.doing == Doing::kInSum || seat.doing == Doing::kInExchange) serve(seat, error);
    }
    posted_.clear();
    wake();
  }

  static bool in_sums(const Seat& seat) {
    return !seat.left_sums && seat.doing != Doing::kLeft && seat.doing != Doing::kAbsent;
  }

  // After a failure nobody is served: the sum would lack the tower that failed.
  void advance() {
    while (!failed_ && (serve_full_sum() || serve_full_exchange() || serve_when_all_wait())) wake();
  }

  // A site that every replica still under way has posted.
  bool serve_full_sum() {
    const auto under_way = std::count_if(seats_.begin(), seats_.end(), in_sums);
    for (const auto& [site, values] : posted_) {
      const auto waiting = std::count_if(values.begin(), values.end(), [&](const auto& posted) {
        return in_sums(seats_[static_cast<size_t>(posted.first)]);
      });
      if (waiting == under_way) {
        complete(site);
        return true;
      }
    }
    return false;
  }

  void complete(CallSite site) {
    auto values = std::move(posted_.at(site));
    posted_.erase(site);
    passed_.insert(site);
    std::sort(values.begin(), values.end());
    double sum = 0;
    for (const auto& [replica, value] : values) sum += value;
    for (const auto& [replica, value] : values) {
      Seat& seat = seats_[static_cast<size_t>(replica)];
      seat.sum = sum;
      seat.served = true;
      seat.doing = Doing::kRunning;
    }
  }

  bool serve_full_exchange() {
    const Seat* first = nullptr;
    for (const Seat& seat : seats_) {
      if (seat.doing == Doing::kAbsent) continue;
      if (seat.doing != Doing::kInExchange || (first && first->what != seat.what)) return false;
      if (!first) first = &seat;
    }
    if (!first) return false;
    std::vector<Payload> values;
    for (const Seat& seat : seats_) {
      if (seat.doing == Doing::kInExchange) values.push_back(seat.value);
    }
    for (Seat& seat : seats_) {
      if (seat.doing == Doing::kInExchange) serve(seat, "", values);
    }
    return true;
  }

  static void serve(Seat& seat, std::string error, std::vector<Payload> values = {}) {
    seat.error = std::move(error);
    seat.values = std::move(values);
    seat.value = nullptr;
    seat.served = true;
    seat.doing = Doing::kRunning;
  }

  // Nobody runs any more: the first site in the program is one that the others have skipped; without one, replicas
  // stand at different exchanges, or one has left.
  bool serve_when_all_wait() {
    const auto waits = [](const Seat& s) { return s.doing == Doing::kInSum || s.doing == Doing::kInExchange; };
    if (std::any_of(seats_.begin(), seats_.end(), [](const Seat& s) { return s.doing == Doing::kRunning; }))
      return false;
    if (std::none_of(seats_.begin(), seats_.end(), waits)) return false;
    if (!posted_.empty()) {
      complete(first_posted());
      return true;
    }
    const std::string error = disagreement();
    for (Seat& seat : seats_) {
      if (waits(seat)) serve(seat, error);
    }
    return true;
  }

  CallSite first_posted() const {
    CallSite first = posted_.begin()->first;
    for (const auto& [site, values] : posted_) {
      if (order_.before(site, first)) first = site;
    }
    return first;
  }

  std::string disagreement() const {
    size_t first = 0;
    while (seats_[first].doing != Doing::kInExchange) ++first;
    for (size_t i = 0; i < seats_.size(); ++i) {
      const Seat& seat = seats_[i];
      if (seat.doing == Doing::kLeft) {
        return concat(noun_, " ", first, " waits in ", seats_[first].what, " and ", noun_, " ", i,
                      " has returned without it");
      }
      if (seat.doing == Doing::kInExchange && seat.what != seats_[first].what) {
        return concat(noun_, " ", first, " calls ", seats_[first].what, " where ", noun_, " ", i, " calls ", seat.what);
      }
    }
    return noun_ + "s disagree";
  }

  const std::string noun_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<unsigned> epoch_{0};
  std::vector<Seat> seats_;
  int active_ = 0;
  std::map<CallSite, std::vector<std::pair<int, double>>> posted_;
  std::set<CallSite> passed_;
  internal::SiteOrder order_;
  std::optional<int> failed_;
  const int spins_;
};

Rendezvous::Rendezvous(int replicas, std::string noun) : state_(std::make_unique<State>(replicas, std::move(noun))) {}
Rendezvous::~Rendezvous() = default;
void Rendezvous::reset(int active) { state_->reset(active); }
double Rendezvous::sum(int replica, const CallSite& site, double value) { return state_->sum(replica, site, value); }
std::vector<at::Tensor> Rendezvous::exchange(int replica, const std::string& what, const at::Tensor& value) {
  std::vector<at::Tensor> values;
  for (const Payload& theirs : exchange(replica, what, std::make_shared<const at::Tensor>(value), std::nullopt)) {
    values.push_back(*static_cast<const at::Tensor*>(theirs.get()));
  }
  return values;
}
std::vector<Rendezvous::Payload> Rendezvous::exchange(int replica, const std::string& what, Payload value,
                                                      std::optional<double> timeout_seconds) {
  return state_->exchange(replica, what, std::move(value), timeout_seconds);
}
void Rendezvous::leave_sums(int replica) { state_->leave_sums(replica); }
void Rendezvous::leave(int replica) { state_->leave(replica); }
void Rendezvous::poison(int failed) { state_->poison(failed); }
bool Rendezvous::was_stopped(int replica) const { return state_->was_stopped(replica); }

}  // namespace belfry
