// The common case of a loss: a mean over entries without weights.
#pragma once

#include <ATen/core/Tensor.h>

#include <source_location>

#include "distribute/step_context.h"
#include "estimator/losses/weighted_loss.h"

namespace belfry::internal {

// Whether compute_weighted_loss with these options is the plain mean over the entries of all towers.
bool is_unweighted_mean(const LossOptions& options);

// This tower's part of that mean: `mean` over its own `entries`, which are not 0, brought to the denominator of all
// towers. With one tower, and where towers have entries in proportion to their rows, `mean` itself.
at::Tensor unweighted_mean(const at::Tensor& mean, int64_t entries, StepContext& ctx,
                           const std::source_location& where);

}  // namespace belfry::internal
