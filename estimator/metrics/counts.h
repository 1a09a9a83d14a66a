// Metrics of labels that are 0 or 1 (false or true), and accuracy. What metrics/means.h says of shapes holds here.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "metric.h"

namespace belfry::metrics {

// The share of predictions that equal their label: classes, not scores. Any number of classes.
Metric accuracy(const at::Tensor& labels, const at::Tensor& predictions, const at::Tensor& weights = {});
// The share of scores that lie on the label's side of the threshold.
Metric binary_accuracy(const at::Tensor& labels, const at::Tensor& scores, double threshold = 0.5,
                       const at::Tensor& weights = {});
// What predicting the more frequent of two classes would reach: max(m, 1 - m) with m the mean of the labels.
Metric accuracy_baseline(const at::Tensor& labels, const at::Tensor& weights = {});

// Counts, or sums of weights. Predictions are classes: everything that is not 0 counts as 1.
Metric true_positives(const at::Tensor& labels, const at::Tensor& predictions, const at::Tensor& weights = {});
Metric true_negatives(const at::Tensor& labels, const at::Tensor& predictions, const at::Tensor& weights = {});
Metric false_positives(const at::Tensor& labels, const at::Tensor& predictions, const at::Tensor& weights = {});
Metric false_negatives(const at::Tensor& labels, const at::Tensor& predictions, const at::Tensor& weights = {});

// tp / (tp + fp) and tp / (tp + fn). Predictions are classes, as above.
Metric precision(const at::Tensor& labels, const at::Tensor& predictions, const at::Tensor& weights = {});
Metric recall(const at::Tensor& labels, const at::Tensor& predictions, const at::Tensor& weights = {});

// The same of scores, at each threshold: a score above it (not at it) counts as 1. The value has shape
// [thresholds.size()]. kInvalidArgument for no thresholds and for one that is not in [0, 1].
Metric precision_at_thresholds(const at::Tensor& labels, const at::Tensor& scores,
                               const std::vector<double>& thresholds, const at::Tensor& weights = {});
Metric recall_at_thresholds(const at::Tensor& labels, const at::Tensor& scores, const std::vector<double>& thresholds,
                            const at::Tensor& weights = {});

}  // namespace belfry::metrics
