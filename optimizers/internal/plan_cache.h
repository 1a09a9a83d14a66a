// Plans of a session's updates.
#pragma once

#include <memory>
#include <vector>

#include "optimizers/internal/update_plan.h"

namespace belfry {
class ReplicaGroup;
}

namespace belfry::internal {

// For the life of a session; used by its thread.
class PlanCache {
 public:
  explicit PlanCache(VariableStore& store) : store_(store) {}

  // The plan for this set of targets; made, with the slots that are missing, when it is first seen. Valid until trim().
  UpdatePlan& plan_for(const Optimizer& optimizer, const std::vector<Target>& targets);
  // Forgets plans when there are too many: sets of variables that differ from step to step make one each.
  void trim();

 private:
  VariableStore& store_;
  std::vector<std::unique_ptr<UpdatePlan>> plans_;
};

// Runs the plan, its shares on the replicas' threads where several are active.
void apply_plan(UpdatePlan& plan, const UpdateRule& rule, const UpdateArguments& arguments,
                const std::vector<Target>& targets, ReplicaGroup* replicas, int active);

}  // namespace belfry::internal
