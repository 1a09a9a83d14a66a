#include <ATen/ATen.h>

#include <algorithm>

#include "core/error.h"
#include "estimator/metrics/classes.h"
#include "estimator/metrics/internal/alignment.h"
#include "estimator/metrics/internal/class_ids.h"
#include "estimator/metrics/internal/summed_metric.h"

namespace belfry::metrics {
namespace {

using internal::divide_no_nan;
using internal::to_double;
using internal::weights_like;
using States = MetricFunction::States;

struct Rows {
  at::Tensor labels;  // [n, labels], int64
  at::Tensor scores;  // [n, classes]
};

Rows checked_rows(const char* name, const at::Tensor& labels, const at::Tensor& scores, int64_t k) {
  require(labels.defined() && scores.defined(), name, ": labels or scores is an undefined tensor");
  require(scores.dim() == 2, name, ": scores have shape ", scores.sizes(), "; wanted [rows, classes]");
  require(labels.dim() >= 1 && labels.dim() <= 2 && labels.size(0) == scores.size(0), name, ": labels of shape ",
          labels.sizes(), " do not fit scores of shape ", scores.sizes());
  require(k >= 1 && k <= scores.size(1), name, ": k is ", k, "; scores of shape ", scores.sizes(), " allow 1 to ",
          scores.size(1));
  require(labels.dim() == 1 || labels.size(1) > 0, name, ": labels of shape ", labels.sizes(), " have no class");
  const at::Tensor ids = labels.detach().to(scores.device(), at::kLong);
  return {ids.dim() == 1 ? ids.unsqueeze(1) : ids, scores.detach()};
}

void require_one_label(const char* name, const Rows& rows) {
  require(rows.labels.size(1) == 1, name, ": labels of shape ", rows.labels.sizes(), " have several classes a row");
}

// [n, k], true where the i-th best class is a label. A stable sort: of equal scores the lower class comes first.
at::Tensor found(const Rows& rows, int64_t k) {
  const at::Tensor order = at::argsort(rows.scores, /*stable=*/true, /*dim=*/1, /*descending=*/true);
  return order.narrow(1, 0, k).unsqueeze(2).eq(rows.labels.unsqueeze(1)).any(2);
}

// Found labels by `per_row`, of which each row has so many.
Metric found_by(const char* name, const Rows& rows, int64_t k, int64_t per_row, const at::Tensor& weights) {
  const at::Tensor hits = found(rows, k).sum(1);
  const at::Tensor row_weights = weights_like(name, hits, weights);
  return internal::summed_metric(concat(name, "(k=", k, ")"),
                                 {(hits * row_weights).sum(), row_weights.sum() * static_cast<double>(per_row)},
                                 [](const States& states) { return divide_no_nan(states[0], states[1]); });
}

}  // namespace

Metric sparse_categorical_accuracy(const at::Tensor& labels, const at::Tensor& scores, const at::Tensor& weights) {
  const char* name = "sparse_categorical_accuracy";
  const Rows rows = checked_rows(name, labels, scores, 1);
  require_one_label(name, rows);
  return internal::ratio_metric(name, found(rows, 1).squeeze(1), weights);
}

Metric sparse_top_k_accuracy(const at::Tensor& labels, const at::Tensor& scores, int64_t k, const at::Tensor& weights) {
  const Rows rows = checked_rows("sparse_top_k_accuracy", labels, scores, k);
  require_one_label("sparse_top_k_accuracy", rows);
  const at::Tensor ids = internal::class_ids("sparse_top_k_accuracy: labels", rows.labels, rows.scores.size(1));
  const at::Tensor above = rows.scores.gt(rows.scores.gather(1, ids)).sum(1);
  return internal::ratio_metric(concat("sparse_top_k_accuracy(k=", k, ")").c_str(), above.lt(k), weights);
}

Metric precision_at_k(const at::Tensor& labels, const at::Tensor& scores, int64_t k, const at::Tensor& weights) {
  const Rows rows = checked_rows("precision_at_k", labels, scores, k);
  return found_by("precision_at_k", rows, k, k, weights);
}

Metric recall_at_k(const at::Tensor& labels, const at::Tensor& scores, int64_t k, const at::Tensor& weights) {
  const Rows rows = checked_rows("recall_at_k", labels, scores, k);
  return found_by("recall_at_k", rows, k, rows.labels.size(1), weights);
}

Metric average_precision_at_k(const at::Tensor& labels, const at::Tensor& scores, int64_t k,
                              const at::Tensor& weights) {
  const Rows rows = checked_rows("average_precision_at_k", labels, scores, k);
  const at::Tensor hits = to_double(found(rows, k));
  const at::Tensor precisions = hits.cumsum(1) / at::arange(1, k + 1, hits.options());
  const double wanted = static_cast<double>(std::min(k, rows.labels.size(1)));
  return internal::ratio_metric(concat("average_precision_at_k(k=", k, ")").c_str(),
                                (precisions * hits).sum(1) / wanted, weights);
}

}  // namespace belfry::metrics
