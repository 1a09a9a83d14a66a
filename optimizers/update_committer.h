// Applies the updates of a step.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "train_op.h"

namespace belfry {

class ReplicaGroup;
class VariableStore;
namespace internal {
class Accumulator;
class PlanCache;
class UpdatePlan;
struct Target;
}  // namespace internal

// What optimizers that accumulate gradients want to know of a step.
struct StepFacts {
  int64_t rows = 1;         // of its batch
  bool ends_input = false;  // no step follows: what has been gathered is applied
};

// For the life of a session: remembers how variables are cut into shares. Used by the session's thread.
class UpdateCommitter {
 public:
  explicit UpdateCommitter(VariableStore& store);
  ~UpdateCommitter();

  // Whether one of the updates gathers gradients over several steps.
  static bool accumulates(const TrainOp& train_op);
  // Makes the slots that are missing and checks everything that can be wrong, before anything is written.
  // kAlreadyExists when two updates would use one slot, or gather under one name; kInvalidArgument for a learning rate
  // that is below 0, not finite, or 0 where the rule wants more. Where every tower has a GPU of its own, dense
  // gradients are added up here, by NCCL, which promises no order of the towers; a line of the log says once which way
  // is taken.
  void prepare(const TrainOp& train_op, const StepFacts& facts = {});
  // Writes the variables. Gradients of towers are added up in tower order; with several active replicas each of them
  // reduces and updates its own share. After prepare() of the same train op only.
  void commit(const TrainOp& train_op, ReplicaGroup* replicas, int active);

 private:
  struct Prepared;

  void reduce_on_gpus(std::vector<internal::Target>& targets, size_t towers);
  int64_t updates_before(const Optimizer& optimizer, const std::vector<internal::Target>& targets) const;
  bool has_gathered(const Optimizer& optimizer) const;
  void prepare_to_gather(const PendingUpdate& update, Prepared& prepared, const StepFacts& facts);
  internal::UpdatePlan& plan_for(const Optimizer& optimizer, std::vector<internal::Target>& targets);
  bool gather(const Optimizer& optimizer, Prepared& prepared, ReplicaGroup* replicas, int active);

  VariableStore& store_;
  std::unique_ptr<internal::PlanCache> plans_;
  std::map<std::string, std::unique_ptr<internal::Accumulator>> accumulators_;  // by optimizer name
  std::vector<Prepared> prepared_;
  bool told_of_gpus_ = false;
};

}  // namespace belfry
