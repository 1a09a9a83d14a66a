#include <ATen/ATen.h>

#include <functional>
#include <limits>

#include "core/error.h"
#include "estimator/feature_column/numeric_column.h"
#include "estimator/heads/binary_class_head.h"
#include "estimator/heads/internal/labels.h"
#include "estimator/heads/multi_class_head.h"
#include "estimator/losses/weighted_loss.h"
#include "estimator/metrics/means.h"
#include "tests/estimator/heads/head_step.h"
#include "tests/support/check_fails.h"
#include "tests/testing.h"

using namespace belfry;
using belfry::testing::HeadStep;

namespace {

HeadStep two_class_step() {
  HeadStep step;
  step.logits = at::tensor({-1.0F, 0.0F, 2.0F}).unsqueeze(1);
  step.labels = at::tensor({0, 1, 1}, at::kLong);
  return step;
}

HeadStep three_class_step() {
  HeadStep step;
  step.logits = at::tensor({3.0F, 1.0F, 0.0F, 0.0F, 1.0F, 1.0F}).reshape({2, 3});
  step.labels = at::tensor({0, 2}, at::kLong);
  return step;
}

std::vector<std::string> names_of(const EvalMetricOps& metrics) {
  std::vector<std::string> names;
  for (const auto& [name, metric] : metrics) names.push_back(name);
  return names;
}

double value_of(const EvalMetricOps& metrics, const std::string& name) {
  for (const auto& [known, metric] : metrics) {
    if (known == name) return metric.value();
  }
  FAIL("no metric " << name);
  return 0;
}

// The mean of the logits, for models that only rank.
class MeanHead : public Head {
 public:
  std::string name() const override { return ""; }
  int64_t logits_dimension() const override { return 2; }
  LossReduction loss_reduction() const override { return LossReduction::kSumOverBatchSize; }
  at::Tensor loss(const Features&, const Labels&, const at::Tensor& logits, ModelContext& ctx,
                  std::source_location where) const override {
    return losses::compute_weighted_loss(logits, ctx, {.reduction = loss_reduction()}, where);
  }
  Predictions predictions(const at::Tensor& logits) const override { return {{"mean", logits.mean(1)}}; }
  EvalMetricOps metrics(const Features&, const Labels&, const at::Tensor& logits) const override {
    return {{"mean", metrics::mean(logits)}};
  }
  ExportOutputs export_outputs(const at::Tensor& logits) const override {
    return {{kServingDefault, PredictOutput{predictions(logits)}}};
  }
};

}  // namespace

TEST_CASE("binary predictions have TensorFlow's keys, shapes and dtypes", "[heads][E77][E87]") {
  const BinaryClassHead head({.label_vocabulary = {"no", "yes"}});
  HeadStep step = two_class_step();
  const EstimatorSpec spec = step.run(head, ModeKeys::kPredict);
  const Predictions& p = spec.predictions;
  CHECK(p.names() == std::vector<std::string>{"logits", "logistic", "probabilities", "class_ids", "classes",
                                              "all_class_ids", "all_classes"});
  CHECK(p["class_ids"].equal(at::tensor({0, 0, 1}, at::kLong).unsqueeze(1)));  // a logit of 0 is class 0
  CHECK(p.strings("classes") == StringTensor({"no", "no", "yes"}, {3, 1}));
  CHECK(p["all_class_ids"].scalar_type() == at::kInt);
  CHECK(p["all_class_ids"].sizes() == at::IntArrayRef({3, 2}));
  CHECK(p.strings("all_classes") == StringTensor({"no", "yes", "no", "yes", "no", "yes"}, {3, 2}));
  CHECK(p["probabilities"].sum(1).allclose(at::ones({3})));
  CHECK(p["probabilities"].select(1, 1).allclose(p["logistic"].select(1, 0)));
}

TEST_CASE("a binary head exports classification, regression and predict", "[heads][E77]") {
  HeadStep step = two_class_step();
  const ExportOutputs outputs = step.run(BinaryClassHead(), ModeKeys::kPredict).export_outputs;
  CHECK(outputs.begin()->first == kServingDefault);
  CHECK(outputs.find(kServingDefault)->kind() == ExportKind::kClassification);
  CHECK(outputs.find("classification")->class_names() == std::vector<std::string>{"0", "1"});
  CHECK(outputs.find("regression")->kind() == ExportKind::kRegression);
  std::vector<std::string> names;
  for (const ExportTensor& tensor : outputs.find("predict")->tensors()) names.push_back(tensor.name);
  CHECK(names == std::vector<std::string>{"logits", "logistic", "probabilities", "class_ids", "classes",
                                          "all_class_ids", "all_classes"});
}

TEST_CASE("a multi-class head has no regression signature, and the lower class wins a tie", "[heads][E78]") {
  HeadStep step = three_class_step();
  const EstimatorSpec spec = step.run(MultiClassHead(3), ModeKeys::kPredict);
  CHECK(spec.export_outputs.find("regression") == nullptr);
  CHECK(spec.export_outputs.find(kServingDefault)->kind() == ExportKind::kClassification);
  CHECK(spec.predictions["class_ids"].equal(at::tensor({0, 1}, at::kLong).unsqueeze(1)));
  CHECK(names_of(step.run(MultiClassHead(3), ModeKeys::kEval).eval_metric_ops) ==
        std::vector<std::string>{"accuracy", "average_loss"});
}

TEST_CASE("a head's name is the suffix of its metrics, thresholds are written short", "[heads][E75][E77]") {
  HeadStep step = two_class_step();
  const auto metrics = step.run(BinaryClassHead({.thresholds = {0.25, 0.5}, .name = "left"}), ModeKeys::kEval);
  const std::vector<std::string> names = names_of(metrics.eval_metric_ops);
  CHECK(names.front() == "average_loss/left");
  CHECK(names.back() == "recall/positive_threshold_0.5/left");
  CHECK(value_of(metrics.eval_metric_ops, "accuracy/positive_threshold_0.25/left") == Approx(2 / 3.0));
}

TEST_CASE("the mean loss divides by rows, average_loss by weights", "[heads][E75][E86]") {
  HeadStep step = two_class_step();
  step.features = {{"w", at::tensor({1.0F, 0.0F, 3.0F})}};
  const EstimatorSpec spec = step.run(BinaryClassHead({.weight_column = "w"}), ModeKeys::kEval);
  const double sum = std::log1p(std::exp(-1.0)) + 3 * std::log1p(std::exp(-2.0));
  CHECK(spec.loss.item<double>() == Approx(sum / 3));
  CHECK(value_of(spec.eval_metric_ops, "average_loss") == Approx(sum / 4));
  CHECK(value_of(spec.eval_metric_ops, "label/mean") == Approx(0.75));
}

TEST_CASE("weights may come from a numeric column with a normalizer", "[heads][E86][E98]") {
  HeadStep step = two_class_step();
  step.features = {{"w", at::tensor({1, 2, 3}, at::kLong)}};
  const auto column = feature_column::numeric_column("w", {.normalizer_fn = [](const at::Tensor& w) { return w * 0; }});
  CHECK(step.run(BinaryClassHead({.weight_column = column}), ModeKeys::kEval).loss.item<double>() == 0);
}

TEST_CASE("weights that are not one number for each row are an error of every head", "[heads][E75][E86]") {
  HeadStep two = two_class_step();
  HeadStep three = three_class_step();
  const auto check = [&](const at::Tensor& weights, const WeightColumn& column, const std::string& told) {
    two.features = {{"w", weights}};
    three.features = two.features;
    for (const ModeKeys mode : {ModeKeys::kTrain, ModeKeys::kEval}) {
      CAPTURE(told, to_string(mode));
      CHECK_FAILS(two.run(BinaryClassHead({.weight_column = column}), mode), ErrorKind::kInvalidArgument, told);
      CHECK_FAILS(three.run(MultiClassHead(3, {.weight_column = column}), mode), ErrorKind::kInvalidArgument, told);
    }
  };
  check(at::ones({4}), "w", "head: weights have shape [4, 1]");
  const auto pairs = feature_column::numeric_column("w", {.shape = {2}});
  check(at::ones({3, 2}), pairs, "head: weights have shape [3, 2]; one for each");
  check(at::ones({3, 2}), "w", "[3, 2]");  // what the column itself says
}

// What a BinaryClassHead on a GPU makes of its labels; tests/gpu trains with it.
TEST_CASE("labels that cannot be looked at become NaN outside the range", "[heads][E77]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const at::Tensor labels = at::tensor({0.0, 1.0, 0.25, -0.5, 1.5, nan}).unsqueeze(1);
  const at::Tensor expected = at::tensor({0.0, 1.0, 0.25, nan, nan, nan}).unsqueeze(1);
  CHECK(at::allclose(internal::nan_outside(labels, 1), expected, 0, 0, /*equal_nan=*/true));
}

TEST_CASE("a loss of one's own takes the place of the head's", "[heads][E75]") {
  HeadStep step = three_class_step();
  const HeadLossFn squares = [](const at::Tensor& labels, const at::Tensor& logits) {
    return (logits.gather(1, labels) - 1).square();
  };
  const MultiClassHead head(3, {.loss_reduction = LossReduction::kSum, .loss_fn = squares});
  CHECK(step.run(head, ModeKeys::kEval).loss.item<double>() == Approx(4));
  const MultiClassHead wrong(3, {.loss_fn = [](const at::Tensor&, const at::Tensor& logits) { return logits; }});
  CHECK_FAILS(step.run(wrong, ModeKeys::kEval), ErrorKind::kInvalidArgument, "loss_fn gave shape [2, 3]");
}

TEST_CASE("a loss of one's own may look at the features", "[heads][E75]") {
  HeadStep three = three_class_step();
  three.features.set("factor", at::tensor({2.0, 3.0}, at::kFloat));
  const auto scaled = [](const at::Tensor&, const at::Tensor& logits, const Features& features) {
    return logits.select(1, 0) * 0 + features["factor"];
  };
  const EstimatorSpec multi = three.run(MultiClassHead(3, {.loss_fn = scaled}), ModeKeys::kEval);
  CHECK(multi.loss.item<double>() == Approx(2.5));
  HeadStep two = two_class_step();
  two.features.set("factor", at::tensor({2.0, 3.0, 7.0}, at::kFloat));
  const EstimatorSpec binary = two.run(BinaryClassHead({.loss_fn = scaled}), ModeKeys::kEval);
  CHECK(binary.loss.item<double>() == Approx(4));
  CHECK(binary.eval_metric_ops[0].second.value() == Approx(4));  // average_loss
}

TEST_CASE("regularization losses are added and evaluated", "[heads][E75]") {
  HeadStep step = two_class_step();
  const double plain = step.run(BinaryClassHead(), ModeKeys::kEval).loss.item<double>();
  step.options.regularization_losses = {at::full({}, 0.5), at::full({1}, 0.25)};
  const EstimatorSpec spec = step.run(BinaryClassHead(), ModeKeys::kEval);
  CHECK(spec.loss.item<double>() == Approx(plain + 0.75));
  CHECK(value_of(spec.eval_metric_ops, "regularization_loss") == Approx(0.75));
}

TEST_CASE("labels that are no class are named with their row", "[heads][E76][E77][E78][E87]") {
  HeadStep two = two_class_step();
  two.labels = at::tensor({0.0F, 1.5F, 1.0F});
  CHECK_FAILS(two.run(BinaryClassHead(), ModeKeys::kEval), ErrorKind::kOutOfRange, "label 1.5 in row 1");
  two.labels = StringTensor({"no", "yes", "maybe"});
  CHECK_FAILS(two.run(BinaryClassHead({.label_vocabulary = {"no", "yes"}}), ModeKeys::kEval), ErrorKind::kOutOfRange,
              "label 'maybe' in row 2");
  CHECK_FAILS(two.run(BinaryClassHead(), ModeKeys::kEval), ErrorKind::kInvalidArgument, "label_vocabulary");
  HeadStep three = three_class_step();
  three.labels = at::tensor({1, -1}, at::kLong);
  CHECK_FAILS(three.run(MultiClassHead(3), ModeKeys::kEval), ErrorKind::kOutOfRange, "class -1 in row 1");
  three.labels = at::tensor({1.0F, 2.0F});
  CHECK_FAILS(three.run(MultiClassHead(3), ModeKeys::kEval), ErrorKind::kInvalidArgument, "integers from 0 to 2");
  CHECK_FAILS(three.run(MultiClassHead(3, {.label_vocabulary = {"a", "b", "c"}}), ModeKeys::kEval),
              ErrorKind::kInvalidArgument, "have to be strings");
}

TEST_CASE("labels of another shape, and none, are errors", "[heads][E76]") {
  HeadStep step = three_class_step();
  step.labels = at::zeros({2, 2}, at::kLong);
  CHECK_FAILS(step.run(MultiClassHead(3), ModeKeys::kEval), ErrorKind::kInvalidArgument, "[2, 2]");
  step.labels = at::zeros({3}, at::kLong);
  CHECK_FAILS(step.run(MultiClassHead(3), ModeKeys::kEval), ErrorKind::kInvalidArgument, "2 rows of the logits");
  step.labels = Labels();
  CHECK_FAILS(step.run(MultiClassHead(3), ModeKeys::kEval), ErrorKind::kInvalidArgument, "no labels");
}

TEST_CASE("sparse labels are an error of the head", "[heads][E76]") {
  HeadStep binary = two_class_step();
  HeadStep several = three_class_step();
  for (HeadStep* step : {&binary, &several}) step->labels = step->labels.tensor().to_sparse();
  for (const ModeKeys mode : {ModeKeys::kTrain, ModeKeys::kEval}) {
    CHECK_FAILS(binary.run(BinaryClassHead(), mode), ErrorKind::kInvalidArgument, "labels are a sparse tensor");
    CHECK_FAILS(several.run(MultiClassHead(3), mode), ErrorKind::kInvalidArgument, "labels are a sparse tensor");
  }
}

TEST_CASE("logits of another width are an error of the head", "[heads][E76]") {
  HeadStep step = two_class_step();
  CHECK_FAILS(step.run(MultiClassHead(3), ModeKeys::kPredict), ErrorKind::kInvalidArgument, "[3, 1]");
}

TEST_CASE("options of heads that cannot be right are named", "[heads][E75][E77][E78][E87]") {
  CHECK_FAILS(MultiClassHead(2), ErrorKind::kInvalidArgument, "n_classes is 2");
  CHECK_FAILS(BinaryClassHead({.thresholds = {0.5, 1}}), ErrorKind::kInvalidArgument, "threshold 1 ");
  CHECK_FAILS(BinaryClassHead({.label_vocabulary = {"a", "a"}}), ErrorKind::kInvalidArgument, "'a' comes twice");
  CHECK_FAILS(MultiClassHead(3, {.label_vocabulary = {"a"}}), ErrorKind::kInvalidArgument, "1 names; there are 3");
  CHECK_FAILS(BinaryClassHead({.loss_reduction = LossReduction::kNone}), ErrorKind::kInvalidArgument, "NONE");
}

TEST_CASE("a head of one's own needs its six functions", "[heads]") {
  HeadStep step;
  step.logits = at::tensor({1.0F, 3.0F, 0.0F, 4.0F}).reshape({2, 2});
  const EstimatorSpec spec = step.run(MeanHead(), ModeKeys::kEval);
  CHECK(spec.loss.item<double>() == 2);
  CHECK(value_of(spec.eval_metric_ops, "mean") == 2);
  CHECK(step.run(MeanHead(), ModeKeys::kPredict).predictions["mean"].equal(at::tensor({2.0F, 2.0F})));
}

TEST_CASE("an evaluation has the predictions that are numbers, without strings", "[heads][E77][E78]") {
  const std::vector<std::string> multi{"logits", "probabilities", "class_ids"};
  HeadStep three = three_class_step();
  CHECK(three.run(MultiClassHead(3), ModeKeys::kEval).predictions.names() == multi);
  const std::vector<std::string> binary{"logits", "logistic", "probabilities", "class_ids"};
  HeadStep two = two_class_step();
  CHECK(two.run(BinaryClassHead(), ModeKeys::kEval).predictions.names() == binary);
}

TEST_CASE("a loss_fn of a multi-class head is not given labels that are no class", "[heads][E78]") {
  HeadStep step = three_class_step();
  const auto zeros = [](const at::Tensor&, const at::Tensor& logits) { return logits.select(1, 0) * 0; };
  CHECK(step.run(MultiClassHead(3, {.loss_fn = zeros}), ModeKeys::kEval).loss.item<double>() == 0);
  step.labels = at::tensor({1, 3}, at::kLong);
  CHECK_FAILS(step.run(MultiClassHead(3, {.loss_fn = zeros}), ModeKeys::kEval), ErrorKind::kOutOfRange,
              "label 3 in row 1");
}
