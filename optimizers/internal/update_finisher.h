// The updates of a step that no Estimator ends.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "distribute/step_finisher.h"
#include "optimizers/train_op.h"
#include "optimizers/update_committer.h"

namespace belfry::internal {

// For optimizers inside Strategy::run: the backward passes that minimize asked for, then one update of each variable by
// the sum of the replicas' gradients. Kept by the strategy, for its store.
class UpdateFinisher : public StepFinisher {
 public:
  explicit UpdateFinisher(VariableStore& store) : committer_(store) {}

  static std::unique_ptr<StepFinisher> make(VariableStore& store) { return std::make_unique<UpdateFinisher>(store); }

  void finish_replica(StepContext& context) override;
  // kFailedPrecondition when replicas made different calls, and what UpdateCommitter::prepare refuses.
  void prepare(const std::vector<const StepContext*>& steps) override;
  void commit(ReplicaSet& replicas, const std::vector<const StepContext*>& steps) override;

 private:
  UpdateCommitter committer_;
  TrainOp train_op_;
};

}  // namespace belfry::internal
