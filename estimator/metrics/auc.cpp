#include "estimator/metrics/auc.h"

#include <ATen/ATen.h>

#include <utility>

#include "core/error.h"
#include "estimator/metrics/internal/alignment.h"
#include "estimator/metrics/internal/summed_metric.h"
#include "estimator/metrics/internal/threshold_counts.h"

namespace belfry::metrics {
namespace {

using internal::divide_no_nan;
using internal::Placement;
using internal::ThresholdCounts;
using States = MetricFunction::States;

constexpr double kV1Margin = 1e-6;
constexpr double kV1PointMargin = 1e-7;

at::Tensor all_but_last(const at::Tensor& values) { return values.narrow(0, 0, values.size(0) - 1); }
at::Tensor all_but_first(const at::Tensor& values) { return values.narrow(0, 1, values.size(0) - 1); }
at::Tensor fall(const at::Tensor& values) { return all_but_last(values) - all_but_first(values); }

bool is_v1(AucSummation summation) { return summation >= AucSummation::kTrapezoidal; }

// Precision along a straight line of true positives over positives is slope + intercept / positives, whose integral has
// the logarithm.
at::Tensor interpolated_pr_area(const ThresholdCounts& counts) {
  const at::Tensor& tp = counts.true_positives;
  const at::Tensor positives = tp + counts.false_positives;
  const at::Tensor before = all_but_last(positives);
  const at::Tensor after = all_but_first(positives);
  const at::Tensor slope = divide_no_nan(fall(tp), (before - after).clamp_min(0));
  const at::Tensor intercept = all_but_first(tp) - slope * after;
  const at::Tensor growth = at::where(after > 0, before / after, at::ones({}, before.options()));
  const at::Tensor true_rows = all_but_first(tp + counts.false_negatives);
  return divide_no_nan(slope * (fall(tp) + intercept * growth.log()), true_rows).sum();
}

struct Curve {
  at::Tensor x;
  at::Tensor y;
};

Curve keras_curve(const ThresholdCounts& counts, AucCurve curve) {
  if (curve == AucCurve::kPr) return {counts.recall(), counts.precision()};
  return {1 - counts.specificity(), counts.recall()};
}

Curve v1_curve(const ThresholdCounts& counts, AucCurve curve) {
  const at::Tensor& tp = counts.true_positives;
  const at::Tensor& fp = counts.false_positives;
  const at::Tensor recall = (tp + kV1Margin) / (tp + counts.false_negatives + kV1Margin);
  if (curve == AucCurve::kPr) return {recall, (tp + kV1Margin) / (tp + fp + kV1Margin)};
  return {fp / (fp + counts.true_negatives + kV1Margin), recall};
}

at::Tensor heights(const at::Tensor& y, AucSummation summation) {
  switch (summation) {
    case AucSummation::kMinoring:
    case AucSummation::kV1Minoring:
      return at::minimum(all_but_last(y), all_but_first(y));
    case AucSummation::kMajoring:
    case AucSummation::kV1Majoring:
      return at::maximum(all_but_last(y), all_but_first(y));
    default:
      return (all_but_last(y) + all_but_first(y)) / 2;
  }
}

at::Tensor area(const ThresholdCounts& counts, AucCurve kind, AucSummation summation) {
  const bool interpolates =
      summation == AucSummation::kInterpolation || summation == AucSummation::kCarefulInterpolation;
  if (kind == AucCurve::kPr && interpolates) return interpolated_pr_area(counts);
  const Curve curve = is_v1(summation) ? v1_curve(counts, kind) : keras_curve(counts, kind);
  return (fall(curve.x) * heights(curve.y, summation)).sum();
}

using Rate = at::Tensor (ThresholdCounts::*)() const;

// In float32, and for kClosest with its margin: which threshold is chosen depends on the rounding.
ThresholdCounts as_the_original(const ThresholdCounts& counts, bool best) {
  const auto single = [](const at::Tensor& values) { return values.to(at::kFloat); };
  const double margin = best ? 0 : kV1PointMargin;
  // The margin stands below the fraction alone, so it goes to the count that is not above it.
  return {single(counts.true_positives), single(counts.false_positives) + margin, single(counts.true_negatives),
          single(counts.false_negatives) + margin};
}

at::Tensor best_value(const at::Tensor& rates, const at::Tensor& values, double wanted) {
  return at::where(rates >= wanted, values, at::zeros({}, values.options())).max();
}

// Of several that are as close, TensorFlow takes the first for a given specificity and the last for a sensitivity.
at::Tensor closest_value(const at::Tensor& rates, const at::Tensor& values, double wanted, bool last) {
  const at::Tensor distance = (rates - wanted).abs();
  const at::Tensor is_closest = distance.eq(distance.min()).to(at::kLong);
  const at::Tensor rank = last ? is_closest.cumsum(0) : is_closest;
  return values.index_select(0, rank.argmax(0, /*keepdim=*/true)).squeeze(0);
}

Metric value_at(const char* name, const at::Tensor& labels, const at::Tensor& scores, double wanted,
                const OperatingPointOptions& options, Rate rate, Rate value) {
  require(wanted >= 0 && wanted <= 1, name, ": ", wanted, " is not in [0, 1]");
  const bool best = options.point == OperatingPoint::kBest;
  States states =
      internal::threshold_counts(name, labels, scores, internal::even_thresholds(name, options.num_thresholds),
                                 options.weights, best ? Placement::kEven : Placement::kCompare);
  const bool last = rate == static_cast<Rate>(&ThresholdCounts::recall);
  return internal::summed_metric(
      concat(name, "(", wanted, ", num_thresholds=", options.num_thresholds, best ? ", best)" : ", closest)"),
      std::move(states), [=](const States& merged) {
        const ThresholdCounts counts = as_the_original(internal::read_threshold_counts(merged), best);
        const at::Tensor rates = (counts.*rate)();
        const at::Tensor values = (counts.*value)();
        return best ? best_value(rates, values, wanted) : closest_value(rates, values, wanted, last);
      });
}

}  // namespace

Metric auc(const at::Tensor& labels, const at::Tensor& scores, const AucOptions& options) {
  const auto placement = is_v1(options.summation) ? Placement::kCompare : Placement::kEven;
  States states = internal::threshold_counts(
      "auc", labels, scores, internal::even_thresholds("auc", options.num_thresholds), options.weights, placement);
  const std::string name =
      concat("auc(num_thresholds=", options.num_thresholds, options.curve == AucCurve::kRoc ? ", ROC" : ", PR",
             ", summation=", static_cast<int>(options.summation), ")");
  return internal::summed_metric(name, std::move(states),
                                 [curve = options.curve, summation = options.summation](const States& merged) {
                                   return area(internal::read_threshold_counts(merged), curve, summation);
                                 });
}

Metric sensitivity_at_specificity(const at::Tensor& labels, const at::Tensor& scores, double specificity,
                                  const OperatingPointOptions& options) {
  return value_at("sensitivity_at_specificity", labels, scores, specificity, options, &ThresholdCounts::specificity,
                  &ThresholdCounts::recall);
}

Metric specificity_at_sensitivity(const at::Tensor& labels, const at::Tensor& scores, double sensitivity,
                                  const OperatingPointOptions& options) {
  return value_at("specificity_at_sensitivity", labels, scores, sensitivity, options, &ThresholdCounts::recall,
                  &ThresholdCounts::specificity);
}

Metric precision_at_recall(const at::Tensor& labels, const at::Tensor& scores, double recall,
                           const OperatingPointOptions& options) {
  return value_at("precision_at_recall", labels, scores, recall, options, &ThresholdCounts::recall,
                  &ThresholdCounts::precision);
}

Metric recall_at_precision(const at::Tensor& labels, const at::Tensor& scores, double precision,
                           const OperatingPointOptions& options) {
  return value_at("recall_at_precision", labels, scores, precision, options, &ThresholdCounts::precision,
                  &ThresholdCounts::recall);
}

}  // namespace belfry::metrics
