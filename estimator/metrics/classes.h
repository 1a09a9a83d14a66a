// Metrics of several classes. What metrics/means.h says of shapes and weights holds here, but where said otherwise.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "metric.h"

namespace belfry::metrics {

// Labels and predictions are class numbers. kOutOfRange, with the first offender and its row, outside [0, num_classes).
//
// The value has shape [num_classes, num_classes]: weight of the rows by label (first dimension) and prediction.
Metric confusion_matrix(const at::Tensor& labels, const at::Tensor& predictions, int64_t num_classes,
                        const at::Tensor& weights = {});
// The mean over all classes of the share of their rows that was predicted right; 0 for a class without rows.
Metric mean_per_class_accuracy(const at::Tensor& labels, const at::Tensor& predictions, int64_t num_classes,
                               const at::Tensor& weights = {});
// The mean of tp / (tp + fp + fn), over the classes that are seen in labels or predictions.
Metric mean_iou(const at::Tensor& labels, const at::Tensor& predictions, int64_t num_classes,
                const at::Tensor& weights = {});

// Scores have shape [n, classes], labels are class numbers [n] or [n, 1], weights [n] or [n, 1].

// The share of rows whose highest score is at the label; the lower class wins a tie.
Metric sparse_categorical_accuracy(const at::Tensor& labels, const at::Tensor& scores, const at::Tensor& weights = {});
// The share of rows with fewer than k scores above that of the label. kOutOfRange for a label that is no class.
Metric sparse_top_k_accuracy(const at::Tensor& labels, const at::Tensor& scores, int64_t k,
                             const at::Tensor& weights = {});

// Here labels may be several a row, [n, labels], all different; one that is no class counts as never found. The k
// classes of highest score are a row's predictions. kInvalidArgument for a k outside [1, classes].
//
// Labels that are found by the number of predictions, and by the number of labels.
Metric precision_at_k(const at::Tensor& labels, const at::Tensor& scores, int64_t k, const at::Tensor& weights = {});
Metric recall_at_k(const at::Tensor& labels, const at::Tensor& scores, int64_t k, const at::Tensor& weights = {});
// The mean over rows of the sum of precision_at_i for each i up to k that finds a label, by min(k, number of labels).
Metric average_precision_at_k(const at::Tensor& labels, const at::Tensor& scores, int64_t k,
                              const at::Tensor& weights = {});

}  // namespace belfry::metrics
