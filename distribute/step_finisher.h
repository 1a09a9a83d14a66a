// What ends a step of several replicas when no Estimator does.
#pragma once

#include <memory>
#include <vector>

namespace belfry {

class ReplicaSet;
class StepContext;
class VariableStore;

// Whoever records work for the end of a step (optimizers) gives one to StepContext::record. Strategy::run keeps one for
// each store and calls it; an Estimator ends its steps itself.
class StepFinisher {
 public:
  virtual ~StepFinisher() = default;

  // On each replica's thread, when its function has returned: backward passes.
  virtual void finish_replica(StepContext& context) = 0;
  // On the caller's thread, when all have: checks whatever can be wrong, writes nothing that counts.
  virtual void prepare(const std::vector<const StepContext*>& steps) = 0;
  // Writes the variables.
  virtual void commit(ReplicaSet& replicas, const std::vector<const StepContext*>& steps) = 0;
};

using MakeStepFinisher = std::unique_ptr<StepFinisher> (*)(VariableStore& store);

}  // namespace belfry
