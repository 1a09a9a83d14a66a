// Applies the updates of a step.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "train_op.h"

namespace belfry {

class ReplicaGroup;
class StepContext;
class VariableStore;
namespace internal {
struct Target;
}

// One train op from the calls that every tower recorded; each update then holds the gradients of all towers. Calls are
// compared one by one: kFailedPrecondition, naming the tower and what it did, when towers called different optimizers,
// or the same ones in another order. kInvalidArgument when the gradients of an update are absent in all towers.
TrainOp merge_tower_updates(const std::vector<const StepContext*>& towers);

// kInvalidArgument, naming the call, when the context recorded an update that `train_op` does not have (its result was
// dropped) or has twice, or when `train_op` has one of another step.
void check_complete(const TrainOp& train_op, const StepContext& context);

// For the life of a session: remembers how variables are cut into shares. Used by the session's thread.
class UpdateCommitter {
 public:
  explicit UpdateCommitter(VariableStore& store);
  ~UpdateCommitter();

  // Makes the slots that are missing and checks everything that can be wrong, before anything is written.
  // kAlreadyExists when two updates would use one slot; kInvalidArgument for a learning rate that is below 0, not
  // finite, or 0 where the rule wants more.
  void prepare(const TrainOp& train_op);
  // Writes the variables. Gradients of towers are added up in tower order; with several active replicas each of them
  // reduces and updates its own share. After prepare() of the same train op only.
  void commit(const TrainOp& train_op, ReplicaGroup* replicas, int active);

 private:
  class Plan;
  struct Prepared;

  int64_t updates_before(const Optimizer& optimizer, const std::vector<internal::Target>& targets) const;

  VariableStore& store_;
  std::vector<std::unique_ptr<Plan>> plans_;
  std::vector<Prepared> prepared_;
};

}  // namespace belfry
