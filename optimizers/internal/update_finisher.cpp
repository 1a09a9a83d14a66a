#include "optimizers/internal/update_finisher.h"

#include "distribute/replica_set.h"
#include "distribute/step_context.h"
#include "optimizers/merge_updates.h"
#include "optimizers/optimizer.h"

namespace belfry::internal {

void UpdateFinisher::finish_replica(StepContext& context) { run_backward(context); }

void UpdateFinisher::prepare(const std::vector<const StepContext*>& steps) {
  train_op_ = merge_tower_updates(steps);
  committer_.prepare(train_op_);
}

void UpdateFinisher::commit(ReplicaSet& replicas, const std::vector<const StepContext*>& steps) {
  const int active = static_cast<int>(steps.size());
  committer_.commit(train_op_, active > 1 ? &replicas.group() : nullptr, active);
  train_op_ = TrainOp();
}

}  // namespace belfry::internal
