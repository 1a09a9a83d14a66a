// Whether towers came to what one device comes to.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "estimator/internal/merge_specs.h"
#include "estimator/model_fn.h"
#include "optimizers/train_op.h"

namespace belfry::internal {

// What one tower made of the whole batch.
struct LoneStep {
  // Those of losses::, in the order of the calls, then those given to optimizers, then the spec's.
  std::vector<std::pair<std::string, double>> losses;
  // Of each optimizer call.
  std::vector<GradientsAndVariables> gradients;
};

// Runs the model_fn and its backward passes on the whole batch in tower 0, as one device would; nothing of it is kept
// in variables or buffers. None when the model_fn drew random numbers, which differ from tower to tower by design.
std::optional<LoneStep> run_alone(const ModelFn& model_fn, const Features& features, const Labels& labels,
                                  bool tower_optimizer_wanted, ModelContext& ctx);

// kFailedPrecondition unless the towers' losses and gradients are those of `alone`, to `tolerance` (relative; for
// gradients, to the largest of the variable's). The message names the first loss that differs, or else the variable,
// with both values. `updates` are those of all towers, in the order of the calls.
void verify_towers(const LoneStep& alone, const std::vector<const StepContext*>& contexts,
                   const std::vector<TowerResult>& towers, const TrainOp& updates, double tolerance);

}  // namespace belfry::internal
