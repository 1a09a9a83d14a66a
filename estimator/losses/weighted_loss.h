// From the losses of the entries to the loss of the step.
#pragma once

#include <ATen/core/Tensor.h>

#include <source_location>

#include "../../distribute/step_context.h"
#include "loss_reduction.h"

namespace belfry {

struct LossOptions {
  // A scalar, or of a shape that broadcasts to the losses; [batch] also fits losses [batch, 1] and the reverse, as in
  // TensorFlow. Undefined: ones.
  at::Tensor weights = {};
  LossReduction reduction = LossReduction::kSumByNonzeroWeights;
};

namespace losses {

// `values` (losses of entries, any shape) reduced as the options say. Under replicate_model_fn with exact weighting, or a
// strategy of Estimator, the denominator is that of all towers, whatever their rows and weights are: the step's loss and
// gradient are those of one device. A zero denominator gives loss 0 and gradient 0. kInvalidArgument, with both shapes,
// when weights do not fit. The definitions are those of tf.compat.v1.losses.compute_weighted_loss.
at::Tensor compute_weighted_loss(const at::Tensor& values, StepContext& ctx, const LossOptions& options = {},
                                 std::source_location where = std::source_location::current());

// sum(weights * values) / sum(weights) over all towers: for means of one's own, masked ones among them.
at::Tensor mean(const at::Tensor& values, StepContext& ctx, const at::Tensor& weights = {},
                std::source_location where = std::source_location::current());

// A term that does not depend on the batch, an L2 penalty of the weights say: counted once for the step, whatever the
// number of towers and the reduction.
at::Tensor penalty(const at::Tensor& value, StepContext& ctx);

}  // namespace losses
}  // namespace belfry
