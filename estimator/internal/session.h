// The live state that train, evaluate and predict work in.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/batch.h"
#include "distribute/replica_set.h"
#include "distribute/strategy.h"
#include "estimator/internal/replicated_call.h"
#include "estimator/model_fn.h"
#include "optimizers/update_committer.h"

namespace belfry::internal {

// One run of the model_fn, between its forward pass and its commit.
struct SessionStep {
  std::unique_ptr<ModelContext> context;
  EstimatorSpec spec;
  int64_t rows = 0;
};

// Where the training input stood at a checkpoint.
struct InputState {
  std::string position;
  uint64_t fingerprint = 0;
  bool finished = false;  // the train call that wrote it had come to its end
  int64_t examples_seen = 0;
};

// Examples of a batch: the rows of the first label that has any, or of the first such feature where no label has.
// (Among both there may be some, scalars too, that are the same for all rows.)
int64_t examples_in(const Features& features, const Labels& labels);
// Those that have any.
std::vector<Batch> with_examples(std::vector<Batch> batches);

// A store, the modules of every tower, and the model_fn that they serve. Used by one thread. A step that fails before
// its commit leaves the variables of the step before; a commit that fails leaves the session broken, and it has to be
// made anew from a checkpoint.
class Session {
 public:
  // `config` has to outlive this. With `distribute`, the model_fn runs on the replicas of a strategy like it.
  Session(ModelFn model_fn, const RunConfig& config, const Strategy* distribute = nullptr);

  VariableStore& store() { return store_; }
  ReplicaSet& replicas() { return replicas_; }
  // How many batches a step takes: one, or one for each replica of the strategy.
  size_t batches_per_step() const { return strategy_ ? static_cast<size_t>(strategy_->num_replicas_in_sync()) : 1; }
  // For the input_fn.
  InputContext input_context() const { return {.num_replicas_in_sync = static_cast<int64_t>(batches_per_step())}; }
  bool broken() const { return broken_; }
  // Its variables are of no use: the next call has to start from a checkpoint.
  void give_up() { broken_ = true; }
  // The next batch of evaluation or prediction is the first of its call: random operations begin anew.
  void restart_batches() { batch_number_ = 0; }

  // Takes all state from the checkpoint; what the model then misses in it is an error of the first step.
  void restore(const std::string& prefix);
  const std::optional<InputState>& input_state() const { return input_state_; }
  void set_input_state(InputState state) { input_state_ = std::move(state); }
  // Empty before a restore.
  const std::string& restored_from() const { return restored_from_; }

  // Calls the model_fn (and in TRAIN the backward passes) on the batches of one step: 1 .. batches_per_step(). The spec
  // is checked and fits the mode.
  SessionStep run(const std::vector<Batch>& batches, ModeKeys mode, bool exporting = false);
  // Makes slots and checks whatever can be wrong with the commit; nothing that counts is written. `ends_input`: no step
  // follows, for optimizers that accumulate gradients.
  void prepare(SessionStep& step, bool ends_input = false);
  void commit(SessionStep& step);
  // Instead of a commit.
  void discard();
  // Whether the model_fn has ever written into variables, beside commits: they are no more those of the checkpoint.
  bool was_assigned_to() const;

 private:
  ReplicatedCall on_replicas(ModelFn model_fn);
  EstimatorSpec call_model_fn(ModelContext& context, const std::vector<Batch>& batches, ModeKeys mode);
  EstimatorSpec call_checked(ModelContext& context, const std::vector<Batch>& batches, ModeKeys mode);
  void check_restored(ModeKeys mode, bool exporting = false);
  void warn_of_late_parts();
  bool is_of_other_optimizer(const std::string& missing) const;

  const RunConfig& config_;
  // Store and replicas are the strategy's where there is one.
  std::unique_ptr<Strategy> strategy_;
  std::unique_ptr<VariableStore> own_store_;
  std::unique_ptr<ReplicaSet> own_replicas_;
  VariableStore& store_;
  ReplicaSet& replicas_;
  ReplicatedCall call_;
  UpdateCommitter committer_;
  std::string restored_from_;
  bool restore_checked_ = true;
  size_t missing_known_ = 0;  // names that the checkpoint lacks and that have been told of
  std::optional<InputState> input_state_;
  bool broken_ = false;
  int64_t batch_number_ = 0;
};

}  // namespace belfry::internal
