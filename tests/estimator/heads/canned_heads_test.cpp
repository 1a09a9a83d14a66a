// Heads against tf.estimator's: losses, predictions and metrics of one batch.
#include "estimator/heads/binary_class_head.h"
#include "estimator/heads/multi_class_head.h"
#include "tests/estimator/canned/canned_data.h"
#include "tests/estimator/heads/head_step.h"
#include "tests/testing.h"

#include <ATen/ATen.h>

using namespace belfry;
using belfry::testing::HeadStep;
using belfry::testing::Json;
using belfry::testing::reference;

namespace {

std::vector<double> thresholds_of(const Json& all, const std::string& kind) {
  const std::string key = "accuracy/positive_threshold_";
  std::vector<double> thresholds;
  const Json& metrics = all["cases"][kind + "_sum_over_batch_size"]["metrics"];
  for (const auto& [name, value] : metrics.items()) {
    if (name.starts_with(key)) thresholds.push_back(std::stod(name.substr(key.size())));
  }
  return thresholds;
}

std::unique_ptr<Head> make_head(const Json& all, const std::string& kind, bool weighted, LossReduction reduction) {
  const WeightColumn weight_column = weighted ? "w" : "";
  if (kind.starts_with("binary")) {
    return std::make_unique<BinaryClassHead>(BinaryClassHeadOptions{
        .weight_column = weight_column, .thresholds = thresholds_of(all, kind), .loss_reduction = reduction});
  }
  const int64_t classes = all["cases"][kind + "_sum"]["logits_shape"][1];
  return std::make_unique<MultiClassHead>(
      classes, MultiClassHeadOptions{.weight_column = weight_column, .loss_reduction = reduction});
}

void check_metrics(const EvalMetricOps& metrics, const Json& expected) {
  CHECK(metrics.size() == expected.size());
  for (const auto& [name, metric] : metrics) {
    INFO("metric " << name << " is " << metric.value());
    REQUIRE(expected.contains(name));
    INFO("expected " << expected[name]);
    CHECK(testing::is_close(metric.value(), testing::to_number(expected[name]), 1e-5, 1e-6));
  }
}

void check_head(const std::string& kind, bool weighted, LossReduction reduction) {
  const Json all = reference("canned")["heads"];
  const std::string suffix = reduction == LossReduction::kSum ? "_sum" : "_sum_over_batch_size";
  const Json& expected = all["cases"][kind + (weighted ? "_w" : "") + suffix];
  INFO(kind << suffix << (weighted ? ", weighted" : ""));
  const auto head = make_head(all, kind, weighted, reduction);
  const std::string width = std::to_string(head->logits_dimension());
  HeadStep step;
  step.logits = testing::to_tensor(all["logits"][width]);
  step.features.set("w", testing::to_tensor(all["weights"]));
  step.labels.set("", testing::to_value(expected["labels"]));
  const EstimatorSpec spec = step.run(*head, ModeKeys::kEval);
  CHECK(testing::is_close(spec.loss.item<double>(), testing::to_number(expected["loss"]), 1e-5, 1e-6));
  if (expected.contains("metrics")) check_metrics(spec.eval_metric_ops, expected["metrics"]);
  if (expected.contains("predictions")) {
    testing::check_predictions(step.run(*head, ModeKeys::kPredict).predictions, expected["predictions"]);
  }
}

void check_kind(const std::string& kind) {
  for (const bool weighted : {false, true}) {
    check_head(kind, weighted, LossReduction::kSum);
    check_head(kind, weighted, LossReduction::kSumOverBatchSize);
  }
}

}  // namespace

TEST_CASE("canned: BinaryClassHead gives TensorFlow's losses, predictions and metrics", "[canned][heads][E75][E77]") {
  check_kind("binary");
  check_kind("binary_thresholds");
}

TEST_CASE("canned: MultiClassHead gives TensorFlow's losses, predictions and metrics", "[canned][heads][E75][E78]") {
  check_kind("multiclass3");
}
