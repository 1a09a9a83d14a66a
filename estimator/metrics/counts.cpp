#include "estimator/metrics/counts.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/error.h"
#include "estimator/metrics/internal/alignment.h"
#include "estimator/metrics/internal/summed_metric.h"
#include "estimator/metrics/internal/threshold_counts.h"

namespace belfry::metrics {
namespace {

using internal::align;
using internal::divide_no_nan;
using internal::Pair;
using internal::ratio_metric;
using internal::summed_metric;
using internal::weights_like;
using States = MetricFunction::States;

// Weight of the rows that have this label and this prediction.
at::Tensor cell(const Pair& pair, const at::Tensor& weights, bool label, bool prediction) {
  const at::Tensor chosen = pair.labels.ne(0).eq(label).logical_and(pair.predictions.ne(0).eq(prediction));
  return (chosen.to(at::kDouble) * weights).sum();
}

struct Cell {
  bool label;
  bool prediction;
};

States cells(const char* name, const at::Tensor& labels, const at::Tensor& predictions, const at::Tensor& weights,
             const std::vector<Cell>& chosen) {
  const Pair pair = align(name, labels, predictions);
  const at::Tensor aligned = weights_like(name, pair.labels, weights);
  States states;
  for (const Cell& one : chosen) states.push_back(cell(pair, aligned, one.label, one.prediction));
  return states;
}

at::Tensor first_state(const States& states) { return states[0]; }
at::Tensor first_share(const States& states) { return divide_no_nan(states[0], states[0] + states[1]); }

std::string settings(const char* name, const std::vector<double>& thresholds) {
  std::string text = std::string(name) + "(";
  for (double threshold : thresholds) text += concat(text.back() == '(' ? "" : ", ", threshold);
  return text + ")";
}

void require_thresholds(const char* name, const std::vector<double>& thresholds) {
  require(!thresholds.empty(), name, ": no thresholds were given");
  for (double threshold : thresholds)
    require(threshold >= 0 && threshold <= 1, name, ": threshold ", threshold, " is not in [0, 1]");
}

// Where each threshold stands among the sorted ones.
at::Tensor ranks(const std::vector<double>& thresholds, const std::vector<double>& sorted) {
  std::vector<int64_t> at_sorted;
  for (double threshold : thresholds)
    at_sorted.push_back(std::lower_bound(sorted.begin(), sorted.end(), threshold) - sorted.begin());
  return at::tensor(at_sorted, at::kLong);
}

Metric at_thresholds(const char* name, const at::Tensor& labels, const at::Tensor& scores,
                     const std::vector<double>& thresholds, const at::Tensor& weights,
                     at::Tensor (internal::ThresholdCounts::*rate)() const) {
  require_thresholds(name, thresholds);
  std::vector<double> sorted = thresholds;
  std::sort(sorted.begin(), sorted.end());
  States states = internal::threshold_counts(name, labels, scores, sorted, weights, internal::Placement::kCompare);
  return summed_metric(settings(name, thresholds), std::move(states),
                       [rate, order = ranks(thresholds, sorted)](const States& merged) {
                         const auto counts = internal::read_threshold_counts(merged);
                         return (counts.*rate)().index_select(0, order.to(merged[0].device()));
                       });
}

}  // namespace

Metric accuracy(const at::Tensor& labels, const at::Tensor& predictions, const at::Tensor& weights) {
  const Pair pair = align("accuracy", labels, predictions);
  return ratio_metric("accuracy", pair.labels.eq(pair.predictions), weights);
}

Metric binary_accuracy(const at::Tensor& labels, const at::Tensor& scores, double threshold,
                       const at::Tensor& weights) {
  const std::string name = concat("binary_accuracy(", threshold, ")");
  const Pair pair = align("binary_accuracy", labels, scores);
  return ratio_metric(name.c_str(), pair.labels.eq(pair.predictions.gt(threshold)), weights);
}

Metric accuracy_baseline(const at::Tensor& labels, const at::Tensor& weights) {
  require(labels.defined(), "accuracy_baseline: labels is an undefined tensor");
  const at::Tensor aligned = weights_like("accuracy_baseline", labels, weights);
  return summed_metric("accuracy_baseline", {(internal::to_double(labels) * aligned).sum(), aligned.sum()},
                       [](const States& states) {
                         const at::Tensor mean = divide_no_nan(states[0], states[1]);
                         return at::maximum(mean, 1 - mean);
                       });
}

Metric true_positives(const at::Tensor& labels, const at::Tensor& predictions, const at::Tensor& weights) {
  const char* name = "true_positives";
  return summed_metric(name, cells(name, labels, predictions, weights, {{true, true}}), first_state);
}

Metric true_negatives(const at::Tensor& labels, const at::Tensor& predictions, const at::Tensor& weights) {
  const char* name = "true_negatives";
  return summed_metric(name, cells(name, labels, predictions, weights, {{false, false}}), first_state);
}

Metric false_positives(const at::Tensor& labels, const at::Tensor& predictions, const at::Tensor& weights) {
  const char* name = "false_positives";
  return summed_metric(name, cells(name, labels, predictions, weights, {{false, true}}), first_state);
}

Metric false_negatives(const at::Tensor& labels, const at::Tensor& predictions, const at::Tensor& weights) {
  const char* name = "false_negatives";
  return summed_metric(name, cells(name, labels, predictions, weights, {{true, false}}), first_state);
}

Metric precision(const at::Tensor& labels, const at::Tensor& predictions, const at::Tensor& weights) {
  return summed_metric("precision", cells("precision", labels, predictions, weights, {{true, true}, {false, true}}),
                       first_share);
}

Metric recall(const at::Tensor& labels, const at::Tensor& predictions, const at::Tensor& weights) {
  return summed_metric("recall", cells("recall", labels, predictions, weights, {{true, true}, {true, false}}),
                       first_share);
}

Metric precision_at_thresholds(const at::Tensor& labels, const at::Tensor& scores,
                               const std::vector<double>& thresholds, const at::Tensor& weights) {
  return at_thresholds("precision_at_thresholds", labels, scores, thresholds, weights,
                       &internal::ThresholdCounts::precision);
}

Metric recall_at_thresholds(const at::Tensor& labels, const at::Tensor& scores, const std::vector<double>& thresholds,
                            const at::Tensor& weights) {
  return at_thresholds("recall_at_thresholds", labels, scores, thresholds, weights, &internal::ThresholdCounts::recall);
}

}  // namespace belfry::metrics
