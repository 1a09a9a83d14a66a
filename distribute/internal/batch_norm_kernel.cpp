#include "distribute/internal/batch_norm_kernel.h"

#include <ATen/ATen.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include "distribute/internal/replica_key.h"
#include "distribute/step_context.h"
#include "distribute/sync_batch_norm.h"

namespace belfry::internal {
namespace {

using Optional = const std::optional<at::Tensor>&;

// Instance norm is made of batch norm, over rows that are one example each.
thread_local bool in_instance_norm = false;

at::Tensor batch_norm(const at::Tensor& input, Optional weight, Optional bias, Optional running_mean,
                      Optional running_var, bool training, double momentum, double eps, bool cudnn_enabled) {
  const c10::impl::ExcludeDispatchKeyGuard below(kReplicaKey);
  StepContext* context = StepContext::current();
  if (!training || in_instance_norm || !context || !context->syncs_batch_norm()) {
    return at::batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled);
  }
  const auto tensor = [](Optional value) { return value.value_or(at::Tensor()); };
  return sync_batch_norm(input, tensor(weight), tensor(bias), tensor(running_mean), tensor(running_var),
                         {.momentum = momentum, .eps = eps}, *context, "batch norm");
}

at::Tensor instance_norm(const at::Tensor& input, Optional weight, Optional bias, Optional running_mean,
                         Optional running_var, bool use_input_stats, double momentum, double eps, bool cudnn_enabled) {
  const c10::impl::ExcludeDispatchKeyGuard below(kReplicaKey);
  in_instance_norm = true;
  struct Reset {
    ~Reset() { in_instance_norm = false; }
  } reset;
  return at::instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps,
                           cudnn_enabled);
}

}  // namespace

void register_batch_norm() {
  static auto* kernels = new torch::Library(torch::Library::IMPL, "aten", kReplicaKey, __FILE__, __LINE__);
  kernels->impl("batch_norm", torch::CppFunction::makeFromUnboxedFunction(&batch_norm));
  kernels->impl("instance_norm", torch::CppFunction::makeFromUnboxedFunction(&instance_norm));
}

}  // namespace belfry::internal
