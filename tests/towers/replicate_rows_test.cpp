#include <optional>
#include <string>

#include "estimator/estimator.h"
#include "estimator/heads/binary_class_head.h"
#include "estimator/losses/losses.h"
#include "estimator/metrics/means.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"
#include "tests/towers/abs_model.h"
#include "towers/replicate_model_fn.h"

namespace belfry {
namespace {

using testing::abs_model;
using testing::column;
using testing::cpus;
using testing::doubles;
using testing::scalar_variable;
using testing::TowerRunner;
using testing::towers;

TEST_CASE("ReplicateModel: batch not divisible, under the original's weighting", "[towers][replicate][R8]") {
  TowerRunner original(towers(abs_model, 2, LossReduction::kSum, TowerWeighting::kTensorFlow));
  const at::Tensor three = column({1, 2, 3});
  CHECK_FAILS(original.train(three, three), ErrorKind::kInvalidArgument,
              "the batch size 3 is not divisible by the number of devices, which is 2");
  // The object is as it was, and goes on.
  CHECK(original.train(column({1, 2}), column({1, 2})) == 27);
  TowerRunner exact(towers(abs_model, 2, LossReduction::kSum));
  CHECK(exact.train(three, three) == 54);
}

TEST_CASE("replicate_model_fn: towers without rows stay idle, and their variables still move", "[towers][replicate]") {
  TowerRunner runner(towers(abs_model, 4, LossReduction::kSum));
  CHECK(runner.train(column({1, 2}), column({1, 2})) == 27);
  CHECK(runner.train(column({1}), column({1})) == 6);
  CHECK(runner.train(column({1, 1, 1, 1}), column({1, 1, 1, 1})) == 20);
  CHECK(runner.number("c") == 2);
}

TEST_CASE("replicate_model_fn: a batch without rows is not a step", "[towers][replicate]") {
  const testing::TemporaryDirectory directory;
  Estimator estimator(towers(abs_model, 2, LossReduction::kSum),
                      {.model_dir = directory.path(), .save_summary_steps = 0, .log_step_count_steps = 0});
  const auto input = [] {
    return Dataset::from_generator(
        [] {
          return [i = 0]() mutable -> std::optional<Batch> {
            if (i == 3) return std::nullopt;
            const int64_t rows = i++ == 1 ? 0 : 2;
            return Batch{at::ones({rows, 1}, at::kDouble), at::ones({rows, 1}, at::kDouble)};
          };
        },
        {.batched = true});
  };
  const TrainResult trained = estimator.train(input);
  CHECK(trained.global_step == 2);
  CHECK(estimator.get_variable_value("c").item<double>() == 6);
  // An evaluation of it is tower 0's alone.
  TowerRunner runner(towers(abs_model, 3));
  CHECK(runner.eval(at::empty({0, 1}, at::kDouble), at::empty({0, 1}, at::kDouble)).tower_losses.size() == 1);
}

TEST_CASE("replicate_model_fn: shared entries reach every tower whole, in a training loop too", "[towers][replicate]") {
  const auto model = [](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    return abs_model(features["x"] * features["scale"] + features["table"].sum() * 0, labels, mode, ctx);
  };
  const testing::TemporaryDirectory directory;
  Estimator estimator(replicate_model_fn(ModelFn(model), {.loss_reduction = LossReduction::kSum,
                                                          .devices = cpus(2),
                                                          .shared_entries = {"scale", "table"}}),
                      {.model_dir = directory.path(), .save_summary_steps = 0, .log_step_count_steps = 0});
  const auto with_shared = [](const Batch& batch) {
    Features features{{"scale", at::full({}, 2.0, at::kDouble)}, {"table", at::eye(7)}};
    features.set("x", batch.features["x"]);
    return Batch{features, batch.labels};
  };
  const auto input = [=] {
    const Features features{{"x", column({.5, 1})}};
    return Dataset::from_tensors(features, column({1, 2})).batch(2).map(with_shared);
  };
  CHECK(estimator.train(input).loss == 27);
  const EvalResult evaluated = estimator.evaluate(input);
  CHECK(evaluated.rows() == 2);
}

TEST_CASE("replicate_model_fn: rows are counted without entries that all towers share", "[towers][replicate]") {
  const auto model = [](const Features& features, const Labels&, ModeKeys mode, ModelContext& ctx) {
    const at::Tensor c = scalar_variable(ctx, "c", 1);
    if (mode == ModeKeys::kEval) return EstimatorSpec::eval((features["x"] * c).mean());
    const at::Tensor loss = losses::mean(features["x"] * c, ctx);
    return EstimatorSpec::train(loss, TowerOptimizer(GradientDescent({.learning_rate = 0.1})).minimize(loss, ctx));
  };
  const testing::TemporaryDirectory directory;
  Estimator estimator(replicate_model_fn(model, {.devices = cpus(2), .shared_entries = {"a_table"}}),
                      {.model_dir = directory.path(), .save_summary_steps = 0, .log_step_count_steps = 0});
  const auto input = [] {
    return Dataset::from_generator(
        [] {
          return [i = 0]() mutable -> std::optional<Batch> {
            if (i++ == 2) return std::nullopt;
            return Batch{{{"a_table", at::ones({7})}, {"x", column({1, 2, 3})}}, {}};
          };
        },
        {.batched = true});
  };
  estimator.train(input);
  CHECK(estimator.evaluate(input).rows() == 6);
}

TEST_CASE("replicate_model_fn: metrics are those of one device, whatever the towers' rows",
          "[towers][replicate][R16]") {
  struct Largest : MetricFunction {
    std::string name() const override { return "largest"; }
    States merge(const States& a, const States& b) const override { return {at::maximum(a[0], b[0])}; }
    at::Tensor result(const States& states) const override { return states[0]; }
  };
  const auto model = [](const Features& features, const Labels&, ModeKeys, ModelContext&) {
    const at::Tensor& x = features.tensor();
    return EstimatorSpec::eval(
        x.sum(),
        {{"mean", metrics::mean(x)}, {"plain", x.mean()}, {"largest", {std::make_shared<Largest>(), {x.max()}}}});
  };
  const auto input = [] { return Dataset::from_tensors(doubles({1, 2, 3, 4, 40, 6, 7, 8, 9, 10, 11})).batch(7); };
  for (const int count : {1, 2, 3, 5}) {
    const testing::TemporaryDirectory directory;
    Estimator estimator(towers(model, count), {.model_dir = directory.path()});
    const EvalResult result = estimator.evaluate(input);
    CHECK(result["mean"] == Approx(101.0 / 11));
    CHECK(result["plain"] == Approx(101.0 / 11));
    CHECK(result["largest"] == 40);
    CHECK(result.rows() == 11);
  }
}

TEST_CASE("replicate_model_fn: predictions beside a loss are those of all towers", "[towers][replicate][R20]") {
  const auto model = [](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    EstimatorSpec spec = abs_model(features, labels, mode, ctx);
    spec.predictions = {{"x", features.tensor()}};
    return spec;
  };
  TowerRunner runner(towers(model, 3));
  const at::Tensor x = column({1, 2, 3, 4});
  CHECK(at::equal(runner.eval(x, x).predictions["x"], x));
  CHECK(at::equal(runner.train_and_discard(x, x).predictions["x"], x));
}

TEST_CASE("replicate_model_fn: string predictions come in the order of the rows", "[towers][replicate][R17]") {
  const auto model = [](const Features& features, const Labels&, ModeKeys, ModelContext&) {
    return EstimatorSpec::predict({{"words", features.strings("words")}});
  };
  const StringTensor words({"a", "b", "c", "d", "e"});
  TowerRunner runner(towers(model, 3));
  CHECK(runner.predict({{"words", words}}).predictions.strings("words") == words);
}

TEST_CASE("replicate_model_fn: two heads of one kind meet each with its own, also when a tower skips one",
          "[towers][replicate][R11]") {
  const auto model = [](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    const at::Tensor rows = features["first"].nonzero().flatten();
    const BinaryClassHead first({.name = "first"});
    const BinaryClassHead second({.name = "second"});
    const auto optimizer = [](const at::Tensor&) { return TrainOp(); };
    at::Tensor loss = at::zeros({}, at::kDouble);
    if (rows.numel() > 0) {
      const Labels chosen(labels.tensor().index_select(0, rows));
      const at::Tensor logits = features["x"].index_select(0, rows);
      loss = loss + first.create_estimator_spec(features, mode, logits, chosen, optimizer, ctx).loss;
    }
    loss = loss + second.create_estimator_spec(features, mode, features["x"], labels, optimizer, ctx).loss;
    return EstimatorSpec::eval(loss);
  };
  const Features features{{"x", column({1, -2, 3, 5})}, {"first", doubles({0, 0, 0, 1})}};
  const at::Tensor labels = doubles({0, 1, 1, 0});
  const double expected = TowerRunner(towers(model, 1)).eval(features, labels).loss.item<double>();
  for (const int count : {2, 3, 4}) {
    CHECK(TowerRunner(towers(model, count)).eval(features, labels).loss.item<double>() == Approx(expected));
  }
}

TEST_CASE("replicate_model_fn: a SUM loss depends on loss_reduction only under the original's weighting",
          "[towers][replicate][R3]") {
  const auto model = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    const at::Tensor c = scalar_variable(ctx, "c", 10);
    const at::Tensor loss =
        losses::absolute_difference(labels.tensor(), features.tensor() * c, ctx, {.reduction = LossReduction::kSum});
    TowerOptimizer optimizer(GradientDescent({.learning_rate = 1.0}));
    return EstimatorSpec::train(loss, optimizer.minimize(loss, ctx));
  };
  TowerRunner exact(towers(model, 2, LossReduction::kMean));
  CHECK(exact.train(column({1, 2}), column({1, 2})) == 27);
  CHECK(exact.number("c") == 7);
  TowerRunner original(towers(model, 2, LossReduction::kMean, TowerWeighting::kTensorFlow));
  CHECK(original.train(column({1, 2}), column({1, 2})) == 13.5);
}

TEST_CASE("replicate_model_fn: weights that fall unevenly on the towers change nothing", "[towers][replicate][R3]") {
  // All weight on the first tower's rows: by the original's rule the step's loss would shrink.
  const auto model = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    const at::Tensor predicted = features["x"] * scalar_variable(ctx, "c", 10);
    return EstimatorSpec::eval(
        losses::absolute_difference(labels.tensor(), predicted, ctx, {.weights = features["weight"]}));
  };
  const Features features{{"x", column({1, 2, 3, 4})}, {"weight", column({1, 1, 0, 0})}};
  for (const int count : {1, 2, 3, 4}) {
    CHECK(TowerRunner(towers(model, count)).eval(features, column({1, 2, 3, 4})).loss.item<double>() == Approx(13.5));
  }
  TowerRunner original(towers(model, 2, LossReduction::kSumByNonzeroWeights, TowerWeighting::kTensorFlow));
  CHECK(original.eval(features, column({1, 2, 3, 4})).loss.item<double>() == Approx(6.75));
}

}  // namespace
}  // namespace belfry
