#include "optimizers/clip_gradients.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "core/error.h"

namespace belfry {
namespace {

at::Tensor entries(const at::Tensor& gradient) {
  return gradient.is_sparse() ? gradient.coalesce().values() : gradient;
}

at::Tensor with_entries(const at::Tensor& gradient, const at::Tensor& values) {
  if (!gradient.is_sparse()) return values;
  const at::Tensor sum = gradient.coalesce();
  return at::_sparse_coo_tensor_unsafe(sum.indices(), values, sum.sizes())._coalesced_(true);
}

}  // namespace

at::Tensor global_norm(const GradientsAndVariables& gradients) {
  const at::NoGradGuard no_grad;
  at::Tensor squares = at::zeros({}, at::kDouble);
  for (const GradientAndVariable& entry : gradients) {
    if (entry.gradient.defined()) squares += entries(entry.gradient).square().sum(at::kDouble).cpu();
  }
  return squares.sqrt();
}

GradientsAndVariables clip_by_global_norm(GradientsAndVariables gradients, double clip_norm) {
  require(clip_norm > 0, "clip_by_global_norm: clip_norm is ", clip_norm, "; a number above 0 is wanted");
  const double norm = global_norm(gradients).item<double>();
  const double scale =
      std::isfinite(norm) ? clip_norm / std::max(norm, clip_norm) : std::numeric_limits<double>::quiet_NaN();
  for (GradientAndVariable& entry : gradients) {
    if (entry.gradient.defined()) entry.gradient = entry.gradient.mul(scale);
  }
  return gradients;
}

GradientsAndVariables clip_by_value(GradientsAndVariables gradients, double low, double high) {
  require(low <= high, "clip_by_value: low is ", low, " and high ", high);
  for (GradientAndVariable& entry : gradients) {
    if (entry.gradient.defined()) {
      entry.gradient = with_entries(entry.gradient, entries(entry.gradient).clamp(low, high));
    }
  }
  return gradients;
}

}  // namespace belfry
