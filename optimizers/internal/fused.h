// When LibTorch's fused optimizer kernels can be used.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace belfry::internal {

// They take float and double (and the half types, in which they would keep no better precision than foreach) on the
// CPU.
inline bool has_fused_kernel(const std::vector<at::Tensor>& parameters) {
  if (parameters.empty() || !parameters[0].is_cpu()) return false;
  const at::ScalarType dtype = parameters[0].scalar_type();
  return dtype == at::kFloat || dtype == at::kDouble;
}

}  // namespace belfry::internal
