// One call of a model_fn on several towers at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "data/batch.h"
#include "distribute/loss_policy.h"
#include "estimator/internal/merge_specs.h"
#include "estimator/internal/verify_towers.h"
#include "estimator/model_fn.h"

namespace belfry::internal {

// The part of a step's data that one tower gets.
struct TowerBatch {
  Features features;
  Labels labels;
  int64_t rows = 0;
};

struct ReplicatedCallOptions {
  // See LossPolicy. Under `exact` a loss counts by the tower's rows, otherwise as 1 / towers.
  bool exact = true;
  int towers = 1;
  // Losses are added up instead.
  bool sum_losses = false;
  bool tower_optimizer_wanted = false;
  bool sync_batch_norm = false;
};

// Calls the model_fn on every tower, with one part of the batch each, in TRAIN with its backward passes, and makes one
// spec of theirs. Copyable; several threads may use copies of one at a time.
class ReplicatedCall {
 public:
  // Runs work(i) as tower i of the contexts, each on its thread, with the tower's context current.
  using Run = std::function<void(const std::vector<ModelContext*>& towers, const std::function<void(int)>& work)>;

  // Without `run`, on the threads of the context's ReplicaSet.
  ReplicatedCall(ModelFn model_fn, const ReplicatedCallOptions& options, Run run = nullptr);

  const ModelFn& model_fn() const { return model_fn_; }

  // `parts`: of the first towers, which take part in the step; the others stay idle. `whole` gives all of it as one
  // batch, for verify_towers_every. The towers' contexts become those of `ctx`. What a tower throws is thrown here, and
  // what merge_specs, merge_tower_updates and verify_towers refuse.
  EstimatorSpec operator()(const std::vector<TowerBatch>& parts, const std::function<Batch()>& whole, ModeKeys mode,
                           ModelContext& ctx) const;

 private:
  StepContext::Options context_options(const std::vector<TowerBatch>& parts, size_t tower, ModeKeys mode,
                                       const ModelContext& ctx) const;
  EstimatorSpec run_tower(const TowerBatch& part, ModeKeys mode, ModelContext& ctx) const;
  EstimatorSpec call_model_fn(const TowerBatch& part, ModeKeys mode, ModelContext& ctx) const;
  bool is_verified(size_t towers, ModeKeys mode, const ModelContext& ctx) const;
  std::optional<LoneStep> run_alone(const Batch& whole, ModelContext& ctx) const;
  EstimatorSpec merge(std::vector<TowerResult> results, const std::vector<ModelContext*>& contexts, ModelContext& ctx,
                      const std::optional<LoneStep>& alone) const;

  ModelFn model_fn_;
  ReplicatedCallOptions options_;
  Run run_;
  std::shared_ptr<std::atomic<bool>> told_of_random_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace belfry::internal
