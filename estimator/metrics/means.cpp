#include "estimator/metrics/means.h"

#include <ATen/ATen.h>

#include "core/error.h"
#include "estimator/metrics/internal/alignment.h"
#include "estimator/metrics/internal/summed_metric.h"

namespace belfry::metrics {
namespace {

using internal::align;
using internal::divide_no_nan;
using internal::Pair;
using internal::ratio_metric;
using internal::summed_metric;
using internal::to_double;
using internal::weights_like;
using States = MetricFunction::States;

at::Tensor difference(const Pair& pair) { return to_double(pair.labels) - to_double(pair.predictions); }

void require_values(const char* metric, const at::Tensor& values) {
  require(values.defined(), metric, ": values is an undefined tensor");
}

}  // namespace

Metric mean(const at::Tensor& values, const at::Tensor& weights) {
  require_values("mean", values);
  return ratio_metric("mean", values, weights);
}

Metric sum(const at::Tensor& values, const at::Tensor& weights) {
  require_values("sum", values);
  const at::Tensor total = (to_double(values) * weights_like("sum", values, weights)).sum();
  return summed_metric("sum", {total}, [](const States& states) { return states[0]; });
}

Metric mean_squared_error(const at::Tensor& labels, const at::Tensor& predictions, const at::Tensor& weights) {
  const char* name = "mean_squared_error";
  return ratio_metric(name, difference(align(name, labels, predictions)).square(), weights);
}

Metric root_mean_squared_error(const at::Tensor& labels, const at::Tensor& predictions, const at::Tensor& weights) {
  const char* name = "root_mean_squared_error";
  const at::Tensor squares = difference(align(name, labels, predictions)).square();
  const at::Tensor aligned = weights_like(name, squares, weights);
  return summed_metric(name, {(squares * aligned).sum(), aligned.sum()},
                       [](const States& states) { return divide_no_nan(states[0], states[1]).sqrt(); });
}

Metric mean_absolute_error(const at::Tensor& labels, const at::Tensor& predictions, const at::Tensor& weights) {
  const char* name = "mean_absolute_error";
  return ratio_metric(name, difference(align(name, labels, predictions)).abs(), weights);
}

Metric mean_relative_error(const at::Tensor& labels, const at::Tensor& predictions, const at::Tensor& normalizer,
                           const at::Tensor& weights) {
  const char* name = "mean_relative_error";
  const Pair pair = align(name, labels, predictions);
  const at::Tensor aligned = align("mean_relative_error: normalizer", pair.labels, normalizer).predictions;
  return ratio_metric(name, divide_no_nan(difference(pair).abs(), to_double(aligned)), weights);
}

Metric percentage_below(const at::Tensor& values, double threshold, const at::Tensor& weights) {
  require_values("percentage_below", values);
  const std::string name = concat("percentage_below(", threshold, ")");
  return ratio_metric(name.c_str(), values < threshold, weights);
}

}  // namespace belfry::metrics
