#include "towers/replicate_model_fn.h"

#include <thread>
#include <vector>

#include "estimator/estimator.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"
#include "tests/towers/abs_model.h"

namespace belfry {
namespace {

using testing::abs_model;
using testing::column;
using testing::cpus;
using testing::doubles;
using testing::kWeightings;
using testing::metric_value;
using testing::scalar_variable;
using testing::TowerRunner;
using testing::towers;

TEST_CASE("ReplicateModel: train", "[towers][replicate][R1][R10][R11]") {
  for (const TowerWeighting weighting : kWeightings) {
    TowerRunner runner(towers(abs_model, 2, LossReduction::kSum, weighting));
    CHECK(runner.train(column({1, 2}), column({1, 2})) == 27);
    CHECK(runner.number("c") == 7);
  }
}

TEST_CASE("ReplicateModel: train with mean reduction, beside a variable without a gradient",
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

TEST_CASE("ReplicateModel: train two steps, gradients reset", "[towers][replicate][R11]") {
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

TEST_CASE("ReplicateModel: eval", "[towers][replicate][R16][R21]") {
  TowerRunner runner(towers(abs_model, 2, LossReduction::kSum));
  const EstimatorSpec spec = runner.eval(kFeatures, kLabels);
  CHECK(metric_value(spec, "accuracy") == Approx(0.5));
  CHECK(metric_value(spec, "auc") == Approx(0).margin(1e-6));
  CHECK(spec.loss.item<double>() == Approx(0.09));
}

TEST_CASE("ReplicateModel: eval with mean reduction", "[towers][replicate][R16][R21]") {
  TowerRunner runner(towers(abs_model, 2, LossReduction::kMean));
  const EstimatorSpec spec = runner.eval(kFeatures, kLabels);
  CHECK(metric_value(spec, "accuracy") == Approx(0.5));
  CHECK(metric_value(spec, "auc") == Approx(0).margin(1e-6));
  CHECK(spec.loss.item<double>() == Approx(0.045));
}

TEST_CASE("ReplicateModel: predict", "[towers][replicate][R17]") {
  TowerRunner runner(towers(abs_model, 2));
  CHECK(at::allclose(runner.predict(kFeatures).predictions["probabilities"], column({.1, .02})));
}

TEST_CASE("Single device without TowerOptimizer: train, with an odd batch", "[towers][replicate][R7][R12]") {
  const auto model = [](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    return testing::abs_spec(features, labels, mode, ctx, GradientDescent({.learning_rate = 1.0}));
  };
  for (const TowerWeighting weighting : kWeightings) {
    TowerRunner runner(towers(model, 1, LossReduction::kSum, weighting));
    CHECK(runner.train(column({1, 1, 1}), column({1, 1, 1})) == 27);
    CHECK(runner.number("c") == 7);
  }
}

TEST_CASE("ReplicateModel: unsupported loss reduction, refused when wrapping", "[towers][replicate][R3]") {
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

// The original scales them: .5 and 1 under a mean.
TEST_CASE("GetLossTowers: computed, unscaled, beside the loss of the step; with mean reduction too",
          "[towers][replicate][R10]") {
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

TEST_CASE("replicate_model_fn: models without labels, and with none in the input", "[towers][replicate][R2]") {
  const auto label_free = [](const Features& features, ModeKeys mode, ModelContext& ctx) {
    return abs_model(features, features, mode, ctx);
  };
  TowerRunner runner(replicate_model_fn(label_free, {.loss_reduction = LossReduction::kSum, .devices = cpus(2)}));
  CHECK(runner.train(column({1, 2}), Labels()) == 27);
  CHECK_FAILS(runner.train(column({1, 2}), column({1, 2})), ErrorKind::kInvalidArgument, "takes no labels");
}

TEST_CASE("replicate_model_fn: one inside another is refused", "[towers][replicate][R1]") {
  for (const int inner : {1, 2}) {
    TowerRunner runner(towers(towers(abs_model, inner), 2));
    CHECK_FAILS(runner.train(column({1, 2}), column({1, 2})), ErrorKind::kInvalidArgument,
                "inside another replicate_model_fn");
  }
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

}  // namespace
}  // namespace belfry
