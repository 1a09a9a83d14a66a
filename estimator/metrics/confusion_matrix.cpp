#include <ATen/ATen.h>

#include <utility>

#include "core/error.h"
#include "estimator/metrics/classes.h"
#include "estimator/metrics/internal/alignment.h"
#include "estimator/metrics/internal/class_ids.h"
#include "estimator/metrics/internal/summed_metric.h"

namespace belfry::metrics {
namespace {

using internal::class_ids;
using internal::divide_no_nan;
using States = MetricFunction::States;

Metric matrix_metric(const char* name, const at::Tensor& labels, const at::Tensor& predictions, int64_t num_classes,
                     const at::Tensor& weights, internal::Reader reader) {
  require(num_classes >= 1, name, ": num_classes is ", num_classes);
  const internal::Pair pair = internal::align(name, labels, predictions);
  const at::Tensor row_weights = internal::weights_like(name, pair.labels, weights).flatten();
  const at::Tensor cells = class_ids(concat(name, ": labels").c_str(), pair.labels, num_classes) * num_classes +
                           class_ids(concat(name, ": predictions").c_str(), pair.predictions, num_classes);
  at::Tensor matrix = at::zeros({num_classes * num_classes}, row_weights.options());
  matrix.index_add_(0, cells.flatten(), row_weights);
  return internal::summed_metric(concat(name, "(num_classes=", num_classes, ")"),
                                 {matrix.view({num_classes, num_classes})}, std::move(reader));
}

at::Tensor per_class_accuracy(const States& states) {
  return divide_no_nan(states[0].diagonal(), states[0].sum(1)).mean();
}

at::Tensor intersection_over_union(const States& states) {
  const at::Tensor& matrix = states[0];
  const at::Tensor both = matrix.diagonal();
  const at::Tensor either = matrix.sum(0) + matrix.sum(1) - both;
  return divide_no_nan(divide_no_nan(both, either).sum(), either.ne(0).sum().to(at::kDouble));
}

}  // namespace

Metric confusion_matrix(const at::Tensor& labels, const at::Tensor& predictions, int64_t num_classes,
                        const at::Tensor& weights) {
  return matrix_metric("confusion_matrix", labels, predictions, num_classes, weights,
                       [](const States& states) { return states[0]; });
}

Metric mean_per_class_accuracy(const at::Tensor& labels, const at::Tensor& predictions, int64_t num_classes,
                               const at::Tensor& weights) {
  return matrix_metric("mean_per_class_accuracy", labels, predictions, num_classes, weights, per_class_accuracy);
}

Metric mean_iou(const at::Tensor& labels, const at::Tensor& predictions, int64_t num_classes,
                const at::Tensor& weights) {
  return matrix_metric("mean_iou", labels, predictions, num_classes, weights, intersection_over_union);
}

}  // namespace belfry::metrics
