// True and false positives at many thresholds, in one pass over the scores.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "../metric.h"

namespace belfry::internal {

// How a score finds its place between the thresholds. They differ by rounding, at scores that are a threshold.
enum class Placement {
  kCompare,  // score > threshold in float32; labels are 0 or not 0
  kEven,     // ceil(score * (thresholds - 1)), as Keras for evenly spaced thresholds; labels may lie between 0 and 1
};

// Two states, weights of the positive and of the negative rows by how many thresholds lie below their score: sums, of
// shape [thresholds + 1]. Thresholds ascend. kInvalidArgument as align() and weights_like(), and for scores or labels
// outside [0, 1], NaN included, with their range.
MetricFunction::States threshold_counts(const char* metric, const at::Tensor& labels, const at::Tensor& scores,
                                        const std::vector<double>& thresholds, const at::Tensor& weights,
                                        Placement placement);

// Weight of the rows, by what they are and by what a threshold makes of them; each of shape [thresholds].
struct ThresholdCounts {
  at::Tensor true_positives;
  at::Tensor false_positives;
  at::Tensor true_negatives;
  at::Tensor false_negatives;

  at::Tensor precision() const;
  at::Tensor recall() const;
  at::Tensor specificity() const;
};
ThresholdCounts read_threshold_counts(const MetricFunction::States& states);

// `count` of them from 0 to 1, the first slightly below and the last slightly above, so that all scores lie between.
// kInvalidArgument for fewer than two.
std::vector<double> even_thresholds(const char* metric, int64_t count);

}  // namespace belfry::internal
