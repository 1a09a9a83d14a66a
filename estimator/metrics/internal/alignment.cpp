#include "estimator/metrics/internal/alignment.h"

#include <ATen/ATen.h>

#include "core/error.h"

namespace belfry::internal {
namespace {

void require_defined(const char* metric, const char* what, const at::Tensor& tensor) {
  require(tensor.defined(), metric, ": ", what, " is an undefined tensor");
}

bool is_column_of(const at::Tensor& longer, const at::Tensor& shorter) {
  return longer.dim() == shorter.dim() + 1 && longer.size(-1) == 1;
}

bool broadcasts(const at::Tensor& weights, const at::Tensor& values) {
  if (weights.dim() != values.dim()) return weights.dim() == 0;
  for (int64_t i = 0; i < values.dim(); ++i)
    if (weights.size(i) != 1 && weights.size(i) != values.size(i)) return false;
  return true;
}

}  // namespace

Pair align(const char* metric, const at::Tensor& labels, const at::Tensor& predictions) {
  require_defined(metric, "labels", labels);
  require_defined(metric, "predictions", predictions);
  Pair pair{labels.detach(), predictions.detach().to(labels.device())};
  if (is_column_of(pair.labels, pair.predictions)) pair.labels = pair.labels.squeeze(-1);
  if (is_column_of(pair.predictions, pair.labels)) pair.predictions = pair.predictions.squeeze(-1);
  require(pair.labels.sizes() == pair.predictions.sizes(), metric, ": labels have shape ", labels.sizes(),
          " and predictions ", predictions.sizes(), "; they have to be the same");
  return pair;
}

at::Tensor weights_like(const char* metric, const at::Tensor& values, const at::Tensor& weights) {
  if (!weights.defined()) return at::ones(values.sizes(), values.options().dtype(at::kDouble).requires_grad(false));
  at::Tensor aligned = to_double(weights).to(values.device());
  if (is_column_of(aligned, values)) aligned = aligned.squeeze(-1);
  if (aligned.dim() > 0 && aligned.dim() + 1 == values.dim()) aligned = aligned.unsqueeze(-1);
  require(broadcasts(aligned, values), metric, ": weights of shape ", weights.sizes(), " do not fit values of shape ",
          values.sizes());
  return aligned.expand(values.sizes());
}

at::Tensor to_double(const at::Tensor& values) { return values.detach().to(at::kDouble); }

at::Tensor divide_no_nan(const at::Tensor& a, const at::Tensor& b) {
  return at::where(b == 0, at::zeros({}, a.options()), a / b);
}

}  // namespace belfry::internal
