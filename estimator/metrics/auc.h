// Areas under curves, and points on them. What metrics/means.h says of shapes holds here; labels are 0 or 1 and scores
// probabilities: kInvalidArgument, with their range, for any outside [0, 1], NaN included. [n, classes] counts all
// entries alike.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "metric.h"

namespace belfry::metrics {

enum class AucCurve {
  kRoc,  // true positive rate over false positive rate
  kPr,   // precision over recall
};

// How the area between two thresholds is counted.
enum class AucSummation {
  // Keras's, and so that of tf.estimator's heads.
  kInterpolation,  // trapezoids of the ROC curve; PR by interpolating true positives (Davis and Goadrich 2006)
  kMinoring,       // the lower of the two heights
  kMajoring,       // the higher
  // Those of tf.compat.v1.metrics.auc, whose rates have 1e-6 added above and below: precision starts at 1 and not at 0.
  kTrapezoidal,
  kCarefulInterpolation,
  kV1Minoring,
  kV1Majoring,
};

struct AucOptions {
  int64_t num_thresholds = 200;  // evenly spaced; the error of the area shrinks with their number
  AucCurve curve = AucCurve::kRoc;
  AucSummation summation = AucSummation::kInterpolation;
  at::Tensor weights = {};
};

Metric auc(const at::Tensor& labels, const at::Tensor& scores, const AucOptions& options = {});

// Which threshold stands for "at".
enum class OperatingPoint {
  kBest,     // Keras's: the best value among the thresholds that reach the wanted rate; 0 when none does
  kClosest,  // that of tf.compat.v1.metrics: the threshold whose rate is closest, on either side
};

struct OperatingPointOptions {
  int64_t num_thresholds = 200;
  OperatingPoint point = OperatingPoint::kBest;
  at::Tensor weights = {};
};

// Sensitivity is tp / (tp + fn), specificity tn / (tn + fp). kInvalidArgument for a wanted rate outside [0, 1].
Metric sensitivity_at_specificity(const at::Tensor& labels, const at::Tensor& scores, double specificity,
                                  const OperatingPointOptions& options = {});
Metric specificity_at_sensitivity(const at::Tensor& labels, const at::Tensor& scores, double sensitivity,
                                  const OperatingPointOptions& options = {});
Metric precision_at_recall(const at::Tensor& labels, const at::Tensor& scores, double recall,
                           const OperatingPointOptions& options = {});
Metric recall_at_precision(const at::Tensor& labels, const at::Tensor& scores, double precision,
                           const OperatingPointOptions& options = {});

}  // namespace belfry::metrics
