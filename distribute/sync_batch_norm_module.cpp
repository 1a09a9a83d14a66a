#include "distribute/sync_batch_norm_module.h"

#include "core/error.h"
#include "distribute/step_context.h"
#include "distribute/sync_batch_norm.h"

namespace belfry {

void SyncBatchNormImpl::_check_input_dim(const at::Tensor& input) {
  require(input.dim() >= 2, "SyncBatchNorm: the input has shape ", input.sizes(), "; [rows, channels, ...] is wanted");
}

at::Tensor SyncBatchNormImpl::forward(const at::Tensor& input) {
  StepContext* step = StepContext::current();
  if (!is_training() || !step) return BatchNormImplBase::forward(input);
  _check_input_dim(input);
  // A last step may leave one replica with one row, which LibTorch refuses.
  if (step->tower_count() == 1 && input.numel() > input.size(1)) return BatchNormImplBase::forward(input);
  double momentum = options.momentum().value_or(0);
  if (num_batches_tracked.defined()) {
    num_batches_tracked.add_(1);
    // Without a momentum the running statistics are the mean of all steps'.
    if (!options.momentum()) momentum = 1 / num_batches_tracked.item<double>();
  }
  return sync_batch_norm(input, weight, bias, running_mean, running_var, {.momentum = momentum, .eps = options.eps()},
                         *step, "SyncBatchNorm");
}

void SyncBatchNormImpl::pretty_print(std::ostream& stream) const {
  stream << "belfry::SyncBatchNorm(" << options.num_features() << ", eps=" << options.eps() << ", momentum=";
  if (options.momentum()) {
    stream << *options.momentum();
  } else {
    stream << "None";
  }
  stream << ", affine=" << options.affine() << ", track_running_stats=" << options.track_running_stats() << ")";
}

}  // namespace belfry
