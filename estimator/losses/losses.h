// The losses of tf.compat.v1.losses.
#pragma once

#include <ATen/core/Tensor.h>

#include <source_location>

#include "weighted_loss.h"

// Each is compute_weighted_loss of its entries' losses: see there for weights, reductions and towers. Labels of shape [n]
// fit predictions of shape [n, 1] and the other way round; any other difference of shape is kInvalidArgument with both
// shapes. Labels are brought to the dtype and device of the predictions, and get no gradient.
namespace belfry::losses {

// Labels are class numbers 0..classes-1 of an integer dtype, [n] or [n, 1], for logits [n, classes] (or with more
// dimensions in front). kOutOfRange, with the first offender and its row, for a label that is no class; on a GPU the
// loss of such a row is NaN.
at::Tensor sparse_softmax_cross_entropy(const at::Tensor& labels, const at::Tensor& logits, StepContext& ctx,
                                        const LossOptions& options = {},
                                        std::source_location where = std::source_location::current());

struct SmoothedLossOptions : LossOptions {
  // In [0, 1]: how far labels are moved towards all classes alike.
  double label_smoothing = 0;
};

// Labels are probabilities of the shape of the logits, [n, classes].
at::Tensor softmax_cross_entropy(const at::Tensor& labels, const at::Tensor& logits, StepContext& ctx,
                                 const SmoothedLossOptions& options = {},
                                 std::source_location where = std::source_location::current());

// Labels between 0 and 1, of the shape of the logits: each entry a problem of its own.
at::Tensor sigmoid_cross_entropy(const at::Tensor& labels, const at::Tensor& logits, StepContext& ctx,
                                 const SmoothedLossOptions& options = {},
                                 std::source_location where = std::source_location::current());

// (labels - predictions)^2
at::Tensor mean_squared_error(const at::Tensor& labels, const at::Tensor& predictions, StepContext& ctx,
                              const LossOptions& options = {},
                              std::source_location where = std::source_location::current());

// |labels - predictions|
at::Tensor absolute_difference(const at::Tensor& labels, const at::Tensor& predictions, StepContext& ctx,
                               const LossOptions& options = {},
                               std::source_location where = std::source_location::current());

// max(0, 1 - (2 labels - 1) logits), with labels 0 and 1.
at::Tensor hinge_loss(const at::Tensor& labels, const at::Tensor& logits, StepContext& ctx,
                      const LossOptions& options = {}, std::source_location where = std::source_location::current());

// -labels log(p + 1e-7) - (1 - labels) log(1 - p + 1e-7), with probabilities p.
at::Tensor log_loss(const at::Tensor& labels, const at::Tensor& probabilities, StepContext& ctx,
                    const LossOptions& options = {}, std::source_location where = std::source_location::current());

struct HuberLossOptions : LossOptions {
  double delta = 1;  // above 0
};

// error^2 / 2 up to delta, delta (|error| - delta / 2) beyond.
at::Tensor huber_loss(const at::Tensor& labels, const at::Tensor& predictions, StepContext& ctx,
                      const HuberLossOptions& options = {},
                      std::source_location where = std::source_location::current());

}  // namespace belfry::losses
