// Which of two call sites comes first in the user's program, as far as its towers have shown.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "distribute/call_site.h"

namespace belfry::internal {

// Learns from the order in which replicas pass sites, and keeps what it learned from step to step. Lines of code alone
// do not tell: files have no order, and a loop comes back to an earlier line. Not for concurrent use.
class SiteOrder {
 public:
  explicit SiteOrder(int replicas) : passed_(static_cast<size_t>(replicas)) {}

  // A new step: no replica has passed anything.
  void begin_step();
  // `replica` comes to `site`, after all that it came to before in this step.
  void note(int replica, const CallSite& site);
  // Whether the program comes to `a` before `b`. Two sites that were seen in either order are in one loop, where the
  // earlier round is first. A loop that went round several times before another site was reached ends before it.
  // Otherwise rounds decide, then the order seen; of two that no replica passed both, the place in the text.
  bool before(const CallSite& a, const CallSite& b) const;

  // A place that two of the first `replicas` have both passed in this step, one of them more often.
  struct Uneven {
    CallSite place;
    size_t fewer = 0;  // the replica that passed it less often, and how often
    int64_t fewer_times = 0;
    size_t more = 0;
    int64_t more_times = 0;
  };
  std::vector<Uneven> uneven(int replicas) const;

 private:
  struct Seen {
    bool repeated = false;    // the first was passed several times before the second was reached
    bool same_round = false;  // both had the same occurrence
  };

  int64_t times_passed(size_t replica, const CallSite& site) const;
  bool in_one_loop(const CallSite& a, const CallSite& b) const;
  // Whether `a`, or what is in one loop with it, loops by itself before `b`.
  bool loops_before(const CallSite& a, const CallSite& b) const;
  // What was seen of `a` before `b`; null when nothing was.
  const Seen* seen(const CallSite& a, const CallSite& b) const;

  std::vector<std::vector<CallSite>> passed_;             // by replica: each site with its last occurrence
  std::map<std::pair<CallSite, CallSite>, Seen> orders_;  // of sites with occurrence 0
};

}  // namespace belfry::internal
