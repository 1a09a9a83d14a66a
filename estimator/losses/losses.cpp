#include "estimator/losses/losses.h"

#include "estimator/losses/internal/loss_formulas.h"
#include "estimator/losses/internal/unweighted_mean.h"

namespace belfry::losses {

at::Tensor sparse_softmax_cross_entropy(const at::Tensor& labels, const at::Tensor& logits, StepContext& ctx,
                                        const LossOptions& options, std::source_location where) {
  if (internal::is_unweighted_mean(options) && labels.is_cpu() && labels.numel() > 0) {
    const at::Tensor mean = internal::mean_sparse_softmax_cross_entropy(labels, logits);
    return internal::unweighted_mean(mean, labels.numel(), ctx, where);
  }
  return compute_weighted_loss(internal::sparse_softmax_cross_entropy(labels, logits), ctx, options, where);
}

at::Tensor softmax_cross_entropy(const at::Tensor& labels, const at::Tensor& logits, StepContext& ctx,
                                 const SmoothedLossOptions& options, std::source_location where) {
  const at::Tensor entries = internal::softmax_cross_entropy(labels, logits, options.label_smoothing);
  return compute_weighted_loss(entries, ctx, options, where);
}

at::Tensor sigmoid_cross_entropy(const at::Tensor& labels, const at::Tensor& logits, StepContext& ctx,
                                 const SmoothedLossOptions& options, std::source_location where) {
  const at::Tensor entries = internal::sigmoid_cross_entropy(labels, logits, options.label_smoothing);
  return compute_weighted_loss(entries, ctx, options, where);
}

at::Tensor mean_squared_error(const at::Tensor& labels, const at::Tensor& predictions, StepContext& ctx,
                              const LossOptions& options, std::source_location where) {
  return compute_weighted_loss(internal::squared_error(labels, predictions), ctx, options, where);
}

at::Tensor absolute_difference(const at::Tensor& labels, const at::Tensor& predictions, StepContext& ctx,
                               const LossOptions& options, std::source_location where) {
  return compute_weighted_loss(internal::absolute_error(labels, predictions), ctx, options, where);
}

at::Tensor hinge_loss(const at::Tensor& labels, const at::Tensor& logits, StepContext& ctx, const LossOptions& options,
                      std::source_location where) {
  return compute_weighted_loss(internal::hinge_loss(labels, logits), ctx, options, where);
}

at::Tensor log_loss(const at::Tensor& labels, const at::Tensor& probabilities, StepContext& ctx,
                    const LossOptions& options, std::source_location where) {
  return compute_weighted_loss(internal::log_loss(labels, probabilities), ctx, options, where);
}

at::Tensor huber_loss(const at::Tensor& labels, const at::Tensor& predictions, StepContext& ctx,
                      const HuberLossOptions& options, std::source_location where) {
  return compute_weighted_loss(internal::huber_loss(labels, predictions, options.delta), ctx, options, where);
}

}  // namespace belfry::losses
