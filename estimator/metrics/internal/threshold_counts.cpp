#include "estimator/metrics/internal/threshold_counts.h"

#include <ATen/ATen.h>

#include "core/error.h"
#include "estimator/metrics/internal/alignment.h"

namespace belfry::internal {
namespace {

constexpr double kThresholdMargin = 1e-7;  // TensorFlow's: smaller than any distance of thresholds

// Both in one transfer, since each one waits for the device.
void require_unit_range(const char* metric, const Pair& pair) {
  if (pair.labels.numel() == 0) return;
  const auto [label_min, label_max] = to_double(pair.labels).aminmax();
  const auto [score_min, score_max] = to_double(pair.predictions).aminmax();
  const at::Tensor limits = at::stack({label_min, label_max, score_min, score_max}).cpu();
  const double* limit = limits.const_data_ptr<double>();
  require(limit[0] >= 0 && limit[1] <= 1, metric, ": labels have to lie in [0, 1], and reach from ", limit[0], " to ",
          limit[1]);
  require(limit[2] >= 0 && limit[3] <= 1, metric, ": scores have to lie in [0, 1] (probabilities, not logits), and ",
          "reach from ", limit[2], " to ", limit[3]);
}

// How many thresholds lie below each score.
at::Tensor places(const at::Tensor& scores, const std::vector<double>& thresholds, Placement placement) {
  const auto count = static_cast<int64_t>(thresholds.size());
  const at::Tensor singles = scores.to(at::kFloat);  // what TensorFlow compares in
  if (placement == Placement::kEven) return (singles * (count - 1)).ceil().to(at::kLong).clamp(1, count - 1);
  const at::Tensor limits = at::tensor(thresholds, at::kDouble).to(scores.device(), at::kFloat);
  return at::searchsorted(limits, singles.contiguous());
}

at::Tensor histogram(const at::Tensor& places, const at::Tensor& weights, int64_t size) {
  return at::zeros({size}, weights.options()).index_add_(0, places, weights);
}

at::Tensor sum_above(const at::Tensor& counts) {
  return counts.flip(0).cumsum(0).flip(0).narrow(0, 1, counts.size(0) - 1);
}

at::Tensor sum_up_to(const at::Tensor& counts) { return counts.cumsum(0).narrow(0, 0, counts.size(0) - 1); }

}  // namespace

MetricFunction::States threshold_counts(const char* metric, const at::Tensor& labels, const at::Tensor& scores,
                                        const std::vector<double>& thresholds, const at::Tensor& weights,
                                        Placement placement) {
  const Pair pair = align(metric, labels, scores);
  require_unit_range(metric, pair);
  const at::Tensor row_weights = weights_like(metric, pair.predictions, weights).flatten();
  const at::Tensor truth = to_double(placement == Placement::kCompare ? pair.labels.ne(0) : pair.labels).flatten();
  const at::Tensor row_places = places(pair.predictions.flatten(), thresholds, placement);
  const auto size = static_cast<int64_t>(thresholds.size()) + 1;
  return {histogram(row_places, truth * row_weights, size), histogram(row_places, (1 - truth) * row_weights, size)};
}

at::Tensor ThresholdCounts::precision() const {
  return divide_no_nan(true_positives, true_positives + false_positives);
}
at::Tensor ThresholdCounts::recall() const { return divide_no_nan(true_positives, true_positives + false_negatives); }
at::Tensor ThresholdCounts::specificity() const {
  return divide_no_nan(true_negatives, true_negatives + false_positives);
}

ThresholdCounts read_threshold_counts(const MetricFunction::States& states) {
  return {sum_above(states[0]), sum_above(states[1]), sum_up_to(states[1]), sum_up_to(states[0])};
}

std::vector<double> even_thresholds(const char* metric, int64_t count) {
  require(count >= 2, metric, ": num_thresholds is ", count, " and has to be at least 2");
  std::vector<double> thresholds;
  for (int64_t i = 0; i < count; ++i) thresholds.push_back(static_cast<double>(i) / static_cast<double>(count - 1));
  thresholds.front() -= kThresholdMargin;
  thresholds.back() += kThresholdMargin;
  return thresholds;
}

}  // namespace belfry::internal
