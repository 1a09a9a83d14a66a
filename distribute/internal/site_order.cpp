#include "distribute/internal/site_order.h"

#include <algorithm>

namespace belfry::internal {
namespace {

CallSite place_of(CallSite site) {
  site.occurrence = 0;
  return site;
}

}  // namespace

void SiteOrder::begin_step() {
  for (auto& mine : passed_) mine.clear();
}

void SiteOrder::note(int replica, const CallSite& site) {
  std::vector<CallSite>& mine = passed_[static_cast<size_t>(replica)];
  const CallSite place = place_of(site);
  CallSite* known = nullptr;
  for (CallSite& earlier : mine) {
    const CallSite earlier_place = place_of(earlier);
    if (earlier_place == place) {
      known = &earlier;
      continue;
    }
    Seen& seen = orders_[{earlier_place, place}];
    seen.repeated = seen.repeated || (earlier.occurrence > 0 && site.occurrence == 0);
    seen.same_round = seen.same_round || earlier.occurrence == site.occurrence;
  }
  if (known) {
    *known = site;
  } else {
    mine.push_back(site);
  }
}

const SiteOrder::Seen* SiteOrder::seen(const CallSite& a, const CallSite& b) const {
  const auto found = orders_.find({place_of(a), place_of(b)});
  return found == orders_.end() ? nullptr : &found->second;
}

bool SiteOrder::in_one_loop(const CallSite& a, const CallSite& b) const { return seen(a, b) && seen(b, a); }

bool SiteOrder::loops_before(const CallSite& a, const CallSite& b) const {
  const CallSite end = place_of(b);
  return std::any_of(orders_.begin(), orders_.end(), [&](const auto& order) {
    const auto& [mate, later] = order.first;
    if (later != end || !order.second.repeated || seen(later, mate)) return false;
    return mate == place_of(a) || in_one_loop(mate, a);
  });
}

bool SiteOrder::before(const CallSite& a, const CallSite& b) const {
  if (loops_before(a, b)) return true;
  if (loops_before(b, a)) return false;
  const Seen* forth = seen(a, b);
  const Seen* back = seen(b, a);
  if (!forth && !back && a.file == b.file) return a < b;
  if (a.occurrence != b.occurrence) return a.occurrence < b.occurrence;
  if (static_cast<bool>(forth) != static_cast<bool>(back)) return forth != nullptr;
  if (forth && forth->same_round != back->same_round) return forth->same_round;
  return a < b;
}

std::vector<SiteOrder::Uneven> SiteOrder::uneven(int replicas) const {
  std::vector<Uneven> found;
  for (size_t more = 0; more < static_cast<size_t>(replicas); ++more) {
    for (const CallSite& site : passed_[more]) {
      if (site.occurrence == 0) continue;
      for (size_t fewer = 0; fewer < static_cast<size_t>(replicas); ++fewer) {
        const int64_t times = times_passed(fewer, site);
        if (times > 0 && times <= site.occurrence)
          found.push_back({place_of(site), fewer, times, more, site.occurrence + 1});
      }
    }
  }
  return found;
}

int64_t SiteOrder::times_passed(size_t replica, const CallSite& site) const {
  for (const CallSite& passed : passed_[replica]) {
    if (place_of(passed) == place_of(site)) return passed.occurrence + 1;
  }
  return 0;
}

}  // namespace belfry::internal
