#include "estimator/internal/merge_specs.h"

#include <optional>

#include "estimator/metrics/means.h"
#include "estimator/session_run_hook.h"
#include "tests/testing.h"
#include "tests/towers/abs_model.h"
#include "estimator/internal/merge_exports.h"

namespace belfry::internal {
namespace {

using testing::column;
using testing::doubles;

at::Tensor loss_of(double value) { return at::full({}, value, at::kDouble); }

EstimatorSpec eval_spec(double loss, EvalMetricOps metrics = {}, SpecExtras extras = {}) {
  return EstimatorSpec::eval(loss_of(loss), std::move(metrics), std::move(extras));
}

TEST_CASE("TrainSpec: merge_specs adds up the losses of a train spec", "[towers][merge][R10][R15]") {
  std::vector<TowerResult> towers;
  for (const double loss : {2.0, 4.0, 6.0}) {
    towers.push_back(
        {EstimatorSpec::train(loss_of(loss), TrainOp(), {.predictions = {{"p", doubles({loss})}}}), LossPolicy(), 1});
  }
  const EstimatorSpec merged = merge_specs(towers);
  CHECK(merged.mode == ModeKeys::kTrain);
  CHECK(merged.loss.item<double>() == 12);
  CHECK(merged.train_op.has_value());
  CHECK(at::equal(merged.predictions["p"], doubles({2, 4, 6})));
  REQUIRE(merged.tower_losses.size() == 3);
  CHECK(merged.tower_losses[1].item<double>() == 4);
}

TEST_CASE("merge_specs multiplies each loss by its contribution", "[towers][merge][R10]") {
  std::vector<TowerResult> towers;
  for (const double loss : {1.0, 2.0}) towers.push_back({eval_spec(loss), {.contribution = 0.5}, 4});
  CHECK(merge_specs(towers).loss.item<double>() == 1.5);
}

TowerResult scored(double loss, double off) {
  const at::Tensor labels = doubles({.1, .2, .3, .6});
  const at::Tensor predicted = doubles({.1, .2, .3, .6 + off});
  return {eval_spec(loss, {{"accuracy", metrics::accuracy(labels, predicted)},
                           {"auc", metrics::auc(labels.ne(0), predicted)}}),
          LossPolicy(), 4};
}

TEST_CASE("EvalSpec: example, metrics merged exactly", "[towers][merge][R16][R21]") {
  const EstimatorSpec merged = merge_specs({scored(2, 0), scored(4, .2), scored(6, .3)});
  CHECK(merged.loss.item<double>() == 12);
  CHECK(testing::metric_value(merged, "accuracy") == Approx(10.0 / 12));
  CHECK(testing::metric_value(merged, "auc") == Approx(0).margin(1e-6));
}

TEST_CASE("PredictSpec: predictions concatenated in tower order, strings too", "[towers][merge][R17]") {
  std::vector<TowerResult> towers;
  for (const double f : {.1, .2}) {
    const StringTensor words({f < .15 ? "low" : "high", "end"});
    towers.push_back({EstimatorSpec::predict({{"p", doubles({f, f}) + .25}, {"words", words}}), LossPolicy(), 2});
  }
  const EstimatorSpec merged = merge_specs(towers);
  CHECK(at::allclose(merged.predictions["p"], doubles({.35, .35, .45, .45})));
  CHECK(merged.predictions.strings("words") == StringTensor({"low", "end", "high", "end"}));
}

// Any states, added up.
struct Added : MetricFunction {
  std::string name() const override { return "added"; }
  at::Tensor result(const States& states) const override { return states.back(); }
};

Metric states(double k) {
  return {std::make_shared<Added>(), {loss_of(1.3 * k), loss_of(2.3 * k), doubles({3.3, 3.5, 3.7}) * k}};
}

TEST_CASE("ReduceMetricVariables: example, the states of metrics are added", "[towers][merge][R16]") {
  std::vector<TowerResult> towers;
  for (const double k : {1.0, 2.0, 3.0}) towers.push_back({eval_spec(1, {{"m", states(k)}}), LossPolicy(), 1});
  const EstimatorSpec merged = merge_specs(towers);
  const Metric& metric = merged.eval_metric_ops[0].second;
  CHECK(metric.states()[0].item<double>() == Approx(7.8));
  CHECK(metric.states()[1].item<double>() == Approx(13.8));
  CHECK(at::allclose(metric.states()[2], doubles({19.8, 21, 22.2})));
  // Reading changes nothing, and the towers' own metrics stay as they are.
  for (int i = 0; i < 20; ++i) CHECK(at::allclose(metric.result(), doubles({19.8, 21, 22.2})));
  CHECK(towers[0].spec.eval_metric_ops[0].second.states()[0].item<double>() == 1.3);
}

TEST_CASE("ReduceMetricVariables: uneven number of variables", "[towers][merge][R16]") {
  const Metric uneven(std::make_shared<Added>(), {loss_of(1)});
  const auto merged = [&] {
    return merge_specs({{eval_spec(1, {{"m", states(1)}}), {}, 1},
                        {eval_spec(1, {{"m", states(2)}}), {}, 1},
                        {eval_spec(1, {{"m", uneven}}), {}, 1}});
  };
  CHECK_FAILS(merged(), ErrorKind::kFailedPrecondition, "3 states do not merge with 1");
  CHECK_FAILS(merged(), ErrorKind::kFailedPrecondition, "'m' of tower 2");
}

TEST_CASE("merge_specs names metric and tower where metrics differ in kind", "[towers][merge][R16]") {
  const auto merged = [](Metric first, Metric second) {
    return merge_specs(
        {{eval_spec(1, {{"m", std::move(first)}}), {}, 1}, {eval_spec(1, {{"m", std::move(second)}}), {}, 1}});
  };
  const Metric mean = metrics::mean(doubles({1}));
  CHECK_FAILS(merged(mean, loss_of(1)), ErrorKind::kFailedPrecondition,
              "the metric 'm' of tower 1 does not merge with tower 0's");
  CHECK_FAILS(merged(loss_of(1), mean), ErrorKind::kFailedPrecondition, "'mean'");
  CHECK_FAILS(merged(doubles({1, 2}), loss_of(1)), ErrorKind::kFailedPrecondition, "tower 1");
}

struct Largest : MetricFunction {
  std::string name() const override { return "largest"; }
  States merge(const States& a, const States& b) const override { return {at::maximum(a[0], b[0])}; }
  at::Tensor result(const States& states) const override { return states[0]; }
};

TEST_CASE("merge_specs merges a running maximum as a maximum", "[towers][merge]") {
  std::vector<TowerResult> towers;
  for (const double largest : {20.0, 40.0, 30.0}) {
    const Metric metric(std::make_shared<Largest>(), {loss_of(largest)});
    towers.push_back({eval_spec(1, {{"m", metric}}), LossPolicy(), 1});
  }
  CHECK(testing::metric_value(merge_specs(towers), "m") == 40);
}

TEST_CASE("merge_specs weights metrics that are plain values by rows", "[towers][merge][R16]") {
  const EstimatorSpec merged =
      merge_specs({{eval_spec(1, {{"m", loss_of(3)}}), {}, 3}, {eval_spec(1, {{"m", loss_of(7)}}), {}, 1}});
  CHECK(testing::metric_value(merged, "m") == 4);
}

TEST_CASE("merge_specs finds metrics by name, not by place", "[towers][merge]") {
  const auto mean = [](double value) { return metrics::mean(doubles({value})); };
  const EstimatorSpec merged = merge_specs({{eval_spec(1, {{"a", mean(1)}, {"b", mean(10)}}), {}, 1},
                                            {eval_spec(1, {{"b", mean(30)}, {"a", mean(3)}}), {}, 1}});
  CHECK(testing::metric_value(merged, "a") == 2);
  CHECK(testing::metric_value(merged, "b") == 20);
}

ExportOutput classification(std::optional<at::Tensor> scores, std::optional<at::Tensor> ids) {
  return ClassificationOutput{scores.value_or(at::Tensor()), ids.value_or(at::Tensor())};
}

ExportOutputs merged_outputs(const ExportOutput& first, const ExportOutput& second) {
  return merge_exports({ExportOutputs{{"out", first}}, ExportOutputs{{"out", second}}});
}

const at::Tensor kScores0 = column({.1});
const at::Tensor kScores1 = column({.02});

TEST_CASE("merge_exports concatenates the scores and the classes of a classification", "[towers][merge][R18]") {
  const at::Tensor id0 = at::full({1, 1}, 4, at::kLong);
  const at::Tensor id1 = at::full({1, 1}, 7, at::kLong);
  const ExportOutputs merged = merged_outputs(classification(kScores0, id0), classification(kScores1, id1));
  const auto& output = std::get<ClassificationOutput>(merged.find("out")->value());
  CHECK(at::equal(output.scores, column({.1, .02})));
  CHECK(at::equal(output.class_ids, at::tensor({4, 7}, at::kLong).unsqueeze(1)));
}

TEST_CASE("merge_exports leaves the part of a classification that is not given absent", "[towers][merge][R18]") {
  const ExportOutputs scores =
      merged_outputs(classification(kScores0, std::nullopt), classification(kScores1, std::nullopt));
  CHECK(at::equal(std::get<ClassificationOutput>(scores.find("out")->value()).scores, column({.1, .02})));
  CHECK_FALSE(std::get<ClassificationOutput>(scores.find("out")->value()).class_ids.defined());
  const at::Tensor ids = at::full({2, 1}, 1, at::kLong);
  const ExportOutputs classes = merged_outputs(classification(std::nullopt, ids), classification(std::nullopt, ids));
  CHECK(std::get<ClassificationOutput>(classes.find("out")->value()).class_ids.sizes() == at::IntArrayRef{4, 1});
  CHECK_FALSE(std::get<ClassificationOutput>(classes.find("out")->value()).scores.defined());
}

TEST_CASE("merge_exports refuses a classification with scores in one tower only", "[towers][merge][R18]") {
  const at::Tensor ids = at::full({1, 1}, 1, at::kLong);
  CHECK_FAILS(merged_outputs(classification(kScores0, ids), classification(std::nullopt, ids)),
              ErrorKind::kFailedPrecondition, "tower 1");
}

TEST_CASE("merge_exports concatenates the value of a regression", "[towers][merge][R18]") {
  const ExportOutputs merged = merged_outputs(RegressionOutput{kScores0}, RegressionOutput{kScores1});
  CHECK(at::equal(std::get<RegressionOutput>(merged.find("out")->value()).value, column({.1, .02})));
}

TEST_CASE("merge_exports concatenates every tensor of a predict output", "[towers][merge][R18]") {
  const PredictOutput first{{{"a", kScores0}, {"b", column({5})}}};
  const PredictOutput second{{{"a", kScores1}, {"b", column({6})}}};
  const ExportOutputs merged = merged_outputs(first, second);
  const auto& output = std::get<PredictOutput>(merged.find("out")->value());
  CHECK(at::equal(output.outputs["a"], column({.1, .02})));
  CHECK(at::equal(output.outputs["b"], column({5, 6})));
}

TEST_CASE("merge_exports names the tower and the signature that differ", "[towers][merge][R18]") {
  const ExportOutput regression = RegressionOutput{kScores0};
  const ExportOutput predict = PredictOutput{{{"a", kScores0}}};
  CHECK_FAILS(merged_outputs(regression, predict), ErrorKind::kFailedPrecondition, "tower 1 has predict export output");
  CHECK_FAILS(merge_exports({ExportOutputs{{"out", regression}}, ExportOutputs()}), ErrorKind::kFailedPrecondition,
              "tower 1 has no export output 'out'");
  CHECK_FAILS(
      merge_exports({ExportOutputs{{"out", regression}}, ExportOutputs{{"out", regression}, {"more", regression}}}),
      ErrorKind::kFailedPrecondition, "tower 1 has the export output 'more'");
}

TEST_CASE("merge_specs names the tower and both sides where specs differ", "[towers][merge]") {
  const auto merged = [](EstimatorSpec first, EstimatorSpec second) {
    return merge_specs({{std::move(first), {}, 1}, {std::move(second), {}, 1}});
  };
  const EstimatorSpec predict = EstimatorSpec::predict({{"p", doubles({1})}});
  CHECK_FAILS(merged(predict, eval_spec(1)), ErrorKind::kFailedPrecondition, "tower 1");
  CHECK_FAILS(merged(eval_spec(1, {{"m", loss_of(1)}}), eval_spec(1)), ErrorKind::kFailedPrecondition,
              "tower 1 has metrics () and tower 0 has metrics (m)");
  CHECK_FAILS(merged(eval_spec(1, {{"m", loss_of(1)}}), eval_spec(1, {{"n", loss_of(1)}})),
              ErrorKind::kFailedPrecondition, "tower 1 has metrics (n) and tower 0 has metrics (m)");
  CHECK_FAILS(merged(predict, EstimatorSpec::predict({{"q", doubles({1})}, {"r", doubles({1})}})),
              ErrorKind::kFailedPrecondition, "tower 1 has predictions (q, r) and tower 0 has predictions (p)");
  EstimatorSpec with_loss = predict;
  with_loss.loss = loss_of(1);
  CHECK_FAILS(merged(predict, with_loss), ErrorKind::kFailedPrecondition, "tower 1 has a loss and tower 0 has no loss");
}

TEST_CASE("merge_specs names the prediction and the tower that cannot be concatenated", "[towers][merge]") {
  const auto merged = [](Value first, Value second) {
    return merge_specs({{EstimatorSpec::predict({{"p", std::move(first)}}), {}, 1},
                        {EstimatorSpec::predict({{"p", std::move(second)}}), {}, 1}});
  };
  CHECK_FAILS(merged(loss_of(1), loss_of(1)), ErrorKind::kInvalidArgument, "'p' is a scalar");
  CHECK_FAILS(merged(at::ones({1, 2}), at::ones({1, 3})), ErrorKind::kFailedPrecondition, "tower 1");
  CHECK_FAILS(merged(at::ones({1}), at::ones({1}, at::kLong)), ErrorKind::kFailedPrecondition, "tower 1");
  CHECK_FAILS(merged(at::ones({1}), StringTensor({"a"})), ErrorKind::kFailedPrecondition, "tower 1");
}

TEST_CASE("merge_specs takes all else from tower 0", "[towers][merge][R15][R19]") {
  struct Hook : SessionRunHook {};
  const auto first = std::make_shared<Hook>();
  const EstimatorSpec merged =
      merge_specs({{eval_spec(1, {}, {.evaluation_hooks = {first}}), {}, 1},
                   {eval_spec(1, {}, {.evaluation_hooks = {std::make_shared<Hook>()}}), {}, 1}});
  REQUIRE(merged.evaluation_hooks.size() == 1);
  CHECK(merged.evaluation_hooks[0] == first);
}

}  // namespace
}  // namespace belfry::internal
