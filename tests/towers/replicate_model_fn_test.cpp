#include "towers/replicate_model_fn.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "core/log.h"
#include "estimator/estimator.h"
#include "estimator/heads/binary_class_head.h"
#include "estimator/losses/losses.h"
#include "estimator/metrics/means.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"
#include "tests/towers/abs_model.h"

namespace belfry {
namespace {

using testing::abs_loss;
using testing::abs_model;
using testing::column;
using testing::cpus;
using testing::doubles;
using testing::metric_value;
using testing::scalar_variable;
using testing::TowerRunner;

ModelFn towers(ModelFn model_fn, int count, LossReduction reduction = LossReduction::kSumByNonzeroWeights,
               TowerWeighting weighting = TowerWeighting::kExact) {
  return replicate_model_fn(std::move(model_fn),
                            {.loss_reduction = reduction, .devices = cpus(count), .weighting = weighting});
}

const TowerWeighting kWeightings[] = {TowerWeighting::kExact, TowerWeighting::kTensorFlow};

TEST_CASE("replicate_model_fn: train", "[towers][replicate][R1][R10][R11]") {
  for (const TowerWeighting weighting : kWeightings) {
    TowerRunner runner(towers(abs_model, 2, LossReduction::kSum, weighting));
    CHECK(runner.train(column({1, 2}), column({1, 2})) == 27);
    CHECK(runner.number("c") == 7);
  }
}

TEST_CASE("replicate_model_fn: train with mean reduction, beside a variable without a gradient",
          "[towers][replicate][R3][R10][R11]") {
  const auto model = [](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    scalar_variable(ctx, "unrelated", 5);
    return abs_model(features, labels, mode, ctx);
  };
  for (const TowerWeighting weighting : kWeightings) {
    for (const LossReduction mean : {LossReduction::kMean, LossReduction::kSumOverBatchSize,
                                     LossReduction::kSumByNonzeroWeights, LossReduction::kSumOverNonzeroWeights}) {
      TowerRunner runner(towers(model, 2, mean, weighting));
      CHECK(runner.train(column({1, 2}), column({1, 2})) == 13.5);
      CHECK(runner.number("c") == 8.5);
      CHECK(runner.number("unrelated") == 5);
    }
  }
}

TEST_CASE("replicate_model_fn: train two steps, each with its own gradients", "[towers][replicate][R11]") {
  for (const TowerWeighting weighting : kWeightings) {
    TowerRunner runner(towers(abs_model, 2, LossReduction::kSum, weighting));
    CHECK(runner.train(column({1, 2}), column({1, 2})) == 27);
    CHECK(runner.number("c") == 7);
    CHECK(runner.train(column({1.5, 2.5}), column({1.5, 2.5})) == 24);
    CHECK(runner.number("c") == 3);
  }
}

TEST_CASE("replicate_model_fn: one step of four towers is one global step", "[towers][replicate][R12]") {
  TowerRunner runner(towers(abs_model, 4));
  runner.train(column({1, 2, 3, 4}), column({1, 2, 3, 4}));
  CHECK(runner.store().global_step() == 1);
}

const at::Tensor kFeatures = column({.01, .002});
const at::Tensor kLabels = column({.01, .02});

TEST_CASE("replicate_model_fn: eval", "[towers][replicate][R16][R21]") {
  TowerRunner runner(towers(abs_model, 2, LossReduction::kSum));
  const EstimatorSpec spec = runner.eval(kFeatures, kLabels);
  CHECK(metric_value(spec, "accuracy") == Approx(0.5));
  CHECK(metric_value(spec, "auc") == Approx(0).margin(1e-6));
  CHECK(spec.loss.item<double>() == Approx(0.09));
}

TEST_CASE("replicate_model_fn: eval with mean reduction", "[towers][replicate][R16][R21]") {
  TowerRunner runner(towers(abs_model, 2, LossReduction::kMean));
  const EstimatorSpec spec = runner.eval(kFeatures, kLabels);
  CHECK(metric_value(spec, "accuracy") == Approx(0.5));
  CHECK(metric_value(spec, "auc") == Approx(0).margin(1e-6));
  CHECK(spec.loss.item<double>() == Approx(0.045));
}

TEST_CASE("replicate_model_fn: predict", "[towers][replicate][R17]") {
  TowerRunner runner(towers(abs_model, 2));
  CHECK(at::allclose(runner.predict(kFeatures).predictions["probabilities"], column({.1, .02})));
}

TEST_CASE("replicate_model_fn: a single tower is neither scaled nor merged", "[towers][replicate][R7]") {
  TowerRunner runner(towers(abs_model, 1));
  CHECK(runner.train(column({1, 2}), column({1, 2})) == 27);
  CHECK(runner.number("c") == 7);
  TowerRunner fresh(towers(abs_model, 1));
  const EstimatorSpec spec = fresh.eval(kFeatures, kLabels);
  CHECK(metric_value(spec, "accuracy") == Approx(0.5));
  CHECK(spec.loss.item<double>() == Approx(0.09));
  CHECK(at::allclose(fresh.predict(kFeatures).predictions["probabilities"], column({.1, .02})));
}

TEST_CASE("replicate_model_fn: with one device a bare optimizer, odd batches and absent labels will do",
          "[towers][replicate][R7][R12]") {
  const auto model = [](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    return testing::abs_spec(features, labels, mode, ctx, GradientDescent({.learning_rate = 1.0}));
  };
  for (const TowerWeighting weighting : kWeightings) {
    TowerRunner runner(towers(model, 1, LossReduction::kSum, weighting));
    CHECK(runner.train(column({1, 1, 1}), column({1, 1, 1})) == 27);
    CHECK(runner.number("c") == 7);
  }
}

TEST_CASE("replicate_model_fn: batch not divisible", "[towers][replicate][R8]") {
  TowerRunner original(towers(abs_model, 2, LossReduction::kSum, TowerWeighting::kTensorFlow));
  const at::Tensor three = column({1, 2, 3});
  CHECK_FAILS(original.train(three, three), ErrorKind::kInvalidArgument,
              "the batch size 3 is not divisible by the number of devices, which is 2");
  // The object is as it was, and goes on.
  CHECK(original.train(column({1, 2}), column({1, 2})) == 27);
  TowerRunner exact(towers(abs_model, 2, LossReduction::kSum));
  CHECK(exact.train(three, three) == 54);
}

TEST_CASE("replicate_model_fn: an unsupported loss reduction is refused when wrapping", "[towers][replicate][R3]") {
  CHECK_FAILS(replicate_model_fn(abs_model, {.loss_reduction = LossReduction::kNone}), ErrorKind::kInvalidArgument,
              "loss_reduction is NONE");
  CHECK_FAILS(replicate_model_fn(abs_model, {.loss_reduction = static_cast<LossReduction>(77)}),
              ErrorKind::kInvalidArgument, "reduced");
}

TEST_CASE("replicate_model_fn: other options that cannot be are refused when wrapping", "[towers][replicate][R4]") {
  CHECK_FAILS(replicate_model_fn(abs_model, {.devices = {"cpu:0", "xpu:1"}}), ErrorKind::kInvalidArgument, "xpu:1");
  CHECK_FAILS(replicate_model_fn(abs_model, {.min_rows_per_tower = 0}), ErrorKind::kInvalidArgument,
              "min_rows_per_tower is 0");
  CHECK_FAILS(replicate_model_fn(ModelFn()), ErrorKind::kInvalidArgument, "no model_fn");
}

TEST_CASE("replicate_model_fn: device names may come in any form and several times", "[towers][replicate][R4]") {
  TowerRunner runner(
      replicate_model_fn(abs_model, {.loss_reduction = LossReduction::kSum, .devices = {"/CPU:0", "cpu:0", "cpu"}}));
  CHECK(runner.train_and_discard(column({1, 2, 3}), column({1, 2, 3})).tower_losses.size() == 3);
}

TEST_CASE("replicate_model_fn: a hook among the training hooks runs, and the loop trains",
          "[towers][replicate][R14][R22]") {
  struct Hook : SessionRunHook {
    void after_run(RunContext& context) override { losses.push_back(context.loss()); }
    std::vector<double> losses;
  };
  const auto hook = std::make_shared<Hook>();
  const auto model = [hook](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    EstimatorSpec spec = abs_model(features, labels, mode, ctx);
    spec.training_hooks = {hook};
    return spec;
  };
  const testing::TemporaryDirectory directory;
  Estimator estimator(towers(model, 2, LossReduction::kSum),
                      {.model_dir = directory.path(), .save_summary_steps = 0, .log_step_count_steps = 0});
  const Features features{{"features", column({1, 2})}};
  estimator.train([&] { return Dataset::from_tensors(features, column({1, 2})).batch(2); }, {.steps = 1});
  CHECK(estimator.get_variable_value("c").item<double>() == 7);
  CHECK(hook->losses == std::vector<double>{27});
}

TEST_CASE("replicate_model_fn: the losses of the towers are kept beside that of the step", "[towers][replicate][R10]") {
  const auto model = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    const at::Tensor predicted = features.tensor() + scalar_variable(ctx, "c", .25);
    return EstimatorSpec::eval((labels.tensor() - predicted).abs().sum());
  };
  const at::Tensor features = doubles({.1, .2, .3, .6, .1, .2, .3, 1.6});
  const at::Tensor labels = doubles({.1, .2, .3, .6, .1, .2, .3, .6});
  for (const auto& [reduction, expected] : {std::pair{LossReduction::kSum, 3.0}, {LossReduction::kMean, 1.5}}) {
    TowerRunner runner(towers(model, 2, reduction));
    const EstimatorSpec spec = runner.eval(features, labels);
    REQUIRE(spec.tower_losses.size() == 2);
    CHECK(spec.tower_losses[0].item<double>() == Approx(1.0));
    CHECK(spec.tower_losses[1].item<double>() == Approx(2.0));
    CHECK(spec.loss.item<double>() == Approx(expected));
    CHECK(runner.number("c") == .25);
    CHECK(runner.store().variables(VariableKind::kParameter).size() == 1);
  }
}

TEST_CASE("replicate_model_fn: every tower sees its index, its rows and the same variables",
          "[towers][replicate][R2][R9]") {
  std::mutex mutex;
  std::map<int, std::vector<double>> seen;
  std::set<std::thread::id> threads;
  const auto model = [&](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    {
      const std::lock_guard lock(mutex);
      const at::Tensor x = features.tensor().contiguous();
      seen[ctx.tower_index()] = {x.const_data_ptr<double>(), x.const_data_ptr<double>() + x.numel()};
      threads.insert(std::this_thread::get_id());
    }
    return abs_model(features, labels, mode, ctx);
  };
  TowerRunner runner(towers(model, 3));
  runner.train(column({1, 2, 3, 4, 5}), column({1, 2, 3, 4, 5}));
  CHECK(seen == std::map<int, std::vector<double>>{{0, {1, 2}}, {1, {3, 4}}, {2, {5}}});
  CHECK(threads.size() == 3);
  // The names say nothing of towers.
  CHECK(runner.store().variables(VariableKind::kParameter).size() == 1);
}

TEST_CASE("replicate_model_fn: checkpoints of any number of towers are interchangeable", "[towers][replicate][R9]") {
  const testing::TemporaryDirectory directory;
  const RunConfig config{.model_dir = directory.path(), .save_summary_steps = 0, .log_step_count_steps = 0};
  const auto input = [] { return Dataset::from_tensors(column({1, 2}), column({1, 2})).batch(2).repeat(); };
  double expected = 10;
  for (const int count : {3, 1, 2}) {
    Estimator estimator(towers(abs_model, count, LossReduction::kSum), config);
    estimator.train(input, {.steps = 1});
    expected -= 3;
    CHECK(estimator.get_variable_value("c").item<double>() == expected);
  }
}

TEST_CASE("replicate_model_fn: models without labels, and with none in the input", "[towers][replicate][R2]") {
  const auto label_free = [](const Features& features, ModeKeys mode, ModelContext& ctx) {
    return abs_model(features, features, mode, ctx);
  };
  TowerRunner runner(replicate_model_fn(label_free, {.loss_reduction = LossReduction::kSum, .devices = cpus(2)}));
  CHECK(runner.train(column({1, 2}), Labels()) == 27);
  CHECK_FAILS(runner.train(column({1, 2}), column({1, 2})), ErrorKind::kInvalidArgument, "takes no labels");
}

TEST_CASE("replicate_model_fn: replicate() is the same as a transform", "[towers][replicate][R1]") {
  TowerRunner runner(replicate({.loss_reduction = LossReduction::kSum, .devices = cpus(2)})(abs_model));
  CHECK(runner.train(column({1, 2}), column({1, 2})) == 27);
}

TEST_CASE("replicate_model_fn: one wrapped model_fn serves several sessions at once", "[towers][replicate]") {
  const ModelFn shared = towers(abs_model, 2, LossReduction::kSum);
  std::vector<double> results(3);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([&, i] {
      TowerRunner runner(shared);
      for (int step = 0; step < 50; ++step) runner.train(column({.01, .02}), column({.01, .02}));
      results[i] = runner.number("c");
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const double result : results) CHECK(result == Approx(10 - 50 * 0.03));
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

TEST_CASE("replicate_model_fn: a train op in an evaluation is neither run nor missed", "[towers][replicate]") {
  const auto model = [](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    EstimatorSpec spec = abs_model(features, labels, ModeKeys::kTrain, ctx);
    spec.mode = mode;
    return spec;
  };
  TowerRunner runner(towers(model, 2, LossReduction::kSum));
  CHECK(runner.eval(column({1, 2}), column({1, 2})).loss.item<double>() == 27);
  CHECK(runner.number("c") == 10);
}

TEST_CASE("replicate_model_fn: params are given to every tower", "[towers][replicate][R2]") {
  struct Params {
    double scale;
  };
  const auto model = [](const Features& features, const Labels&, ModeKeys, ModelContext&, const Params& params) {
    return EstimatorSpec::predict({{"y", features.tensor() * params.scale}});
  };
  TowerRunner runner(replicate_model_fn(model, Params{3}, {.devices = cpus(2)}));
  CHECK(at::equal(runner.predict(column({1, 2, 3})).predictions["y"], column({3, 6, 9})));
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

TEST_CASE("replicate_model_fn: a spec for another mode is refused", "[towers][replicate]") {
  const auto model = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    return abs_model(features, labels, ModeKeys::kEval, ctx);
  };
  for (const int count : {1, 2}) {
    TowerRunner runner(towers(model, count));
    CHECK_FAILS(runner.train(column({1, 2}), column({1, 2})), ErrorKind::kInvalidArgument,
                "returned a spec for mode eval");
  }
}

TEST_CASE("replicate_model_fn: writing into a feature is an error, in any tower", "[towers][replicate]") {
  const auto model = [](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    if (ctx.tower_index() == 1) features["x"].mul_(2);
    return abs_model(features, labels, mode, ctx);
  };
  TowerRunner runner(towers(model, 2));
  CHECK_FAILS(runner.train({{"x", column({1, 2})}}, column({1, 2})), ErrorKind::kInvalidArgument, "feature 'x'");
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

// --- Failures ---

struct Boom : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Keeps the log's messages while it lives.
class LogCatcher {
 public:
  LogCatcher()
      : before_(set_log_sink([this](LogLevel, std::string_view message) { text_ += std::string(message) + "\n"; })) {}
  ~LogCatcher() { set_log_sink(before_); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  LogSink before_;
};

TEST_CASE("replicate_model_fn: what a tower throws reaches the caller, and training goes on as if nothing was",
          "[towers][replicate][failure]") {
  for (const int failing : {0, 1, 2, 3, -1}) {
    std::atomic<bool> armed{false};
    const auto model = [&](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
      if (armed && (failing < 0 || ctx.tower_index() == failing)) throw Boom("boom");
      return abs_model(features, labels, mode, ctx);
    };
    TowerRunner runner(towers(model, 4, LossReduction::kSum));
    const at::Tensor x = column({1, 2, 3, 4});
    runner.train(x, x);
    const LogCatcher log;
    armed = true;
    CHECK_THROWS_AS(runner.train(x, x), Boom);
    CHECK_THAT(log.text(), Catch::Contains("tower " + std::to_string(std::max(failing, 0)) + " failed: boom"));
    armed = false;
    CHECK(runner.number("c") == 0);
    CHECK(runner.train(x * .5, x) == 10);  // c = 0: |labels|
    CHECK(runner.number("c") == 5);
    CHECK(runner.store().global_step() == 2);
  }
}

TEST_CASE("replicate_model_fn: a failure in the very first step leaves a session that trains",
          "[towers][replicate][failure]") {
  std::atomic<bool> armed{true};
  const auto model = [&](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    if (armed && ctx.tower_index() == 0) throw Boom("before any variable");
    return abs_model(features, labels, mode, ctx);
  };
  TowerRunner runner(towers(model, 3, LossReduction::kSum));
  CHECK_THROWS_AS(runner.train(column({1, 1, 1}), column({1, 1, 1})), Boom);
  armed = false;
  CHECK(runner.train(column({1, 1, 1}), column({1, 1, 1})) == 27);
}

// A tower that fails while the others wait for it in a loss's denominator, or in a sum.
template <class Wait>
void check_failure_while_waiting(const Wait& wait) {
  for (const int failing : {0, 1, 2}) {
    std::atomic<bool> armed{true};
    const auto model = [&](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
      if (armed && ctx.tower_index() == failing) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));  // let the others wait; right without it, too
        throw Boom("while others wait");
      }
      wait(features.tensor(), ctx);
      return abs_model(features, labels, mode, ctx);
    };
    TowerRunner runner(towers(model, 3, LossReduction::kSum));
    const LogCatcher quiet;
    CHECK_THROWS_AS(runner.train(column({1, 1, 1}), column({1, 1, 1})), Boom);
    armed = false;
    CHECK(runner.train(column({1, 1, 1}), column({1, 1, 1})) == 27);
    CHECK(runner.number("c") == 7);
  }
}

TEST_CASE("replicate_model_fn: a tower fails while others wait in a loss", "[towers][replicate][failure]") {
  check_failure_while_waiting([](const at::Tensor& x, ModelContext& ctx) { losses::mean(x, ctx, x); });
}

TEST_CASE("replicate_model_fn: a tower fails while others wait in global_sum", "[towers][replicate][failure]") {
  check_failure_while_waiting([](const at::Tensor& x, ModelContext& ctx) { ctx.global_sum(x.sum()); });
}

TEST_CASE("replicate_model_fn: a tower that returns while others wait in global_sum is an error in words",
          "[towers][replicate][failure]") {
  const auto model = [](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    if (ctx.tower_index() != 1) ctx.global_sum(features.tensor().sum());
    return abs_model(features, labels, mode, ctx);
  };
  TowerRunner runner(towers(model, 3));
  const LogCatcher quiet;
  CHECK_FAILS(runner.eval(column({1, 1, 1}), column({1, 1, 1})), ErrorKind::kFailedPrecondition,
              "tower 1 has returned without it");
}

TEST_CASE("replicate_model_fn: a hook that throws leaves the step undone", "[towers][replicate][failure]") {
  struct Hook : SessionRunHook {
    void before_apply(RunContext& context) override {
      if (context.global_step() == 1) throw Boom("in a hook");
    }
  };
  const testing::TemporaryDirectory directory;
  Estimator estimator(towers(abs_model, 2, LossReduction::kSum),
                      {.model_dir = directory.path(), .save_summary_steps = 0, .log_step_count_steps = 0});
  const auto input = [] { return Dataset::from_tensors(column({1, 2}), column({1, 2})).batch(2).repeat(); };
  const LogCatcher quiet;
  CHECK_THROWS_AS(estimator.train(input, {.steps = 3, .hooks = {std::make_shared<Hook>()}}), Boom);
  CHECK(estimator.train(input, {.steps = 1}).global_step == 2);
  CHECK(estimator.get_variable_value("c").item<double>() == 4);
}

TEST_CASE("replicate_model_fn: a loss that is not a number names the step and the tower",
          "[towers][replicate][failure]") {
  const testing::TemporaryDirectory directory;
  Estimator estimator(towers(abs_model, 3, LossReduction::kSum),
                      {.model_dir = directory.path(), .save_summary_steps = 0, .log_step_count_steps = 0});
  const at::Tensor good = column({1, 1, 1});
  const at::Tensor bad = column({1, 1, std::nan("")});
  const LogCatcher quiet;
  CHECK_FAILS(estimator.train([&] {
    return Dataset::from_tensors(at::cat({good, bad}), at::cat({good, good})).batch(3);
  }),
              ErrorKind::kNanLoss, "the loss of step 2 is not a number in tower 2");
  CHECK(estimator.train([&] { return Dataset::from_tensors(good, good).batch(3); }).global_step == 2);
  CHECK(estimator.get_variable_value("c").item<double>() == 4);
}

TEST_CASE("replicate_model_fn: an input that cannot be split leaves the estimator usable",
          "[towers][replicate][failure]") {
  TowerRunner runner(towers(abs_model, 2, LossReduction::kSum));
  CHECK_FAILS(runner.train(column({1, 2, 3}), column({1, 2})), ErrorKind::kInvalidArgument,
              "feature has 3 rows and label has 2");
  CHECK_FAILS(runner.predict(Features()), ErrorKind::kInvalidArgument, "no feature");
  CHECK_FAILS(runner.predict(at::scalar_tensor(1.0)), ErrorKind::kInvalidArgument, "scalar");
  CHECK(runner.train(column({1, 2}), column({1, 2})) == 27);
}

// --- Random numbers ---

ModelFn dropout_model() {
  return [](const Features& features, const Labels&, ModeKeys, ModelContext& ctx) {
    const at::Tensor dropped = at::dropout(features.tensor(), 0.5, /*train=*/true);
    const at::Tensor loss = dropped.sum() * scalar_variable(ctx, "c", 10);
    TowerOptimizer optimizer(GradientDescent({.learning_rate = 0.01}));
    return EstimatorSpec::train(loss, optimizer.minimize(loss, ctx), {.predictions = {{"dropped", dropped}}});
  };
}

TEST_CASE("replicate_model_fn: dropout differs between towers and steps, and repeats for a seed",
          "[towers][replicate][random]") {
  const at::Tensor x = at::ones({64, 8}, at::kDouble);
  const auto masks = [&](uint64_t seed) {
    TowerRunner runner(towers(dropout_model(), 2), seed);
    std::vector<at::Tensor> both;
    for (int step = 0; step < 2; ++step) {
      both.push_back(runner.train_and_discard(x, x).predictions["dropped"]);
      runner.train(x, x);
    }
    return both;
  };
  const auto first = masks(1);
  CHECK_FALSE(at::equal(first[0].narrow(0, 0, 32), first[0].narrow(0, 32, 32)));
  CHECK_FALSE(at::equal(first[0], first[1]));
  const auto again = masks(1);
  CHECK(at::equal(first[0], again[0]));
  CHECK(at::equal(first[1], again[1]));
  CHECK_FALSE(at::equal(first[0], masks(2)[0]));
}

TEST_CASE("replicate_model_fn: the process's generator is not touched by towers", "[towers][replicate][random]") {
  const at::Tensor x = at::ones({8, 2}, at::kDouble);
  at::manual_seed(5);
  const at::Tensor expected = at::rand({4});
  at::manual_seed(5);
  TowerRunner runner(towers(dropout_model(), 2));
  runner.train(x, x);
  CHECK(at::equal(at::rand({4}), expected));
}

}  // namespace
}  // namespace belfry
