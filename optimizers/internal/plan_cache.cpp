#include "optimizers/internal/plan_cache.h"

#include <algorithm>

#include "distribute/replica_group.h"

namespace belfry::internal {
namespace {

constexpr size_t kPlansKept = 64;

}  // namespace

UpdatePlan& PlanCache::plan_for(const Optimizer& optimizer, const std::vector<Target>& targets) {
  const auto known =
      std::find_if(plans_.begin(), plans_.end(), [&](const auto& plan) { return plan->fits(optimizer, targets); });
  if (known != plans_.end()) return **known;
  plans_.push_back(std::make_unique<UpdatePlan>(store_, optimizer, targets));
  return *plans_.back();
}

void PlanCache::trim() {
  if (plans_.size() > kPlansKept) plans_.clear();
}

void apply_plan(UpdatePlan& plan, const UpdateRule& rule, const UpdateArguments& arguments,
                const std::vector<Target>& targets, ReplicaGroup* replicas, int active) {
  if (!replicas || active <= 1) {
    plan.apply(rule, arguments, targets);
    return;
  }
  plan.cut(active);
  replicas->run(active, [&](int share) { plan.apply_share(rule, arguments, targets, share); });
}

}  // namespace belfry::internal
