// What messages call a replica: by its name under a strategy, a tower under replicate_model_fn.
#include <ATen/ATen.h>

#include <torch/nn/modules/batchnorm.h>

#include <functional>
#include <memory>

#include "distribute/step_context.h"
#include "estimator/estimator.h"
#include "estimator/losses/losses.h"
#include "estimator/metrics/means.h"
#include "optimizers/gradient_descent.h"
#include "optimizers/momentum.h"
#include "tests/distribute/strategies.h"
#include "tests/estimator/linear_model.h"
#include "tests/support/check_fails.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"
#include "towers/replicate_model_fn.h"
#include "towers/tower_optimizer.h"

namespace belfry {
namespace {

using Catch::Contains;
using testing::TemporaryDirectory;
using Use = std::function<void(Estimator&)>;

void train(Estimator& estimator) { estimator.train(testing::line(4, 2), {.steps = 1}); }

void check_names(const std::string& message, const std::string& noun) {
  CHECK_THAT(message, Contains(noun));
  CHECK_THAT(message, !Contains(noun == "tower" ? "replica" : "tower"));
}

// The same mistake of a model_fn under both, over two devices.
void check_both(const ModelFn& model_fn, const std::string& part, const Use& use = train) {
  const TemporaryDirectory here, there;
  RunConfig config = testing::quiet(here.path());
  config.train_distribute = config.eval_distribute = testing::strategy_named("mirrored_2");
  Estimator replicas(model_fn, config);
  const auto named = testing::failure([&] { use(replicas); });
  CHECK_THAT(named.message, Contains(part));
  check_names(named.message, "replica");
  Estimator towers(replicate_model_fn(model_fn, {.devices = testing::cpus(2)}), testing::quiet(there.path()));
  const auto of_towers = testing::failure([&] { use(towers); });
  CHECK(of_towers.kind == named.kind);
  CHECK_THAT(of_towers.message, Contains(part));
  check_names(of_towers.message, "tower");
}

bool is_second(const ModelContext& ctx) { return ctx.tower_index() == 1; }

at::Tensor loss_of(const Features& features, const Labels& labels, ModelContext& ctx) {
  return losses::mean_squared_error(labels.tensor(), testing::linear_output(features, ctx), ctx);
}

TrainOp minimized(const at::Tensor& loss, ModelContext& ctx) {
  return TowerOptimizer(GradientDescent({.learning_rate = 0.1})).minimize(loss, ctx);
}

}  // namespace

TEST_CASE("specs that differ name replicas under a strategy, and towers else", "[estimator][distribute][E121]") {
  const auto predictions = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    const at::Tensor loss = loss_of(features, labels, ctx);
    EstimatorSpec spec = EstimatorSpec::train(loss, minimized(loss, ctx));
    if (is_second(ctx)) spec.predictions = {{"more", at::ones({2})}};
    return spec;
  };
  check_both(predictions, " 1 has predictions (more) and ");
  const auto of_other_dtype = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    const at::Tensor loss = loss_of(features, labels, ctx);
    EstimatorSpec spec = EstimatorSpec::train(loss, minimized(loss, ctx));
    spec.predictions = {{"p", at::ones({2}, is_second(ctx) ? at::kFloat : at::kDouble)}};
    return spec;
  };
  check_both(of_other_dtype, " 1 has 'p' of Float");
  const auto metric = [](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    const at::Tensor loss = loss_of(features, labels, ctx);
    if (mode == ModeKeys::kTrain) return EstimatorSpec::train(loss, minimized(loss, ctx));
    return EstimatorSpec::eval(loss, {{is_second(ctx) ? "b" : "a", metrics::mean(at::ones({2}))}});
  };
  check_both(metric, " 1 has metrics (b) and ", [](Estimator& estimator) {
    train(estimator);
    estimator.evaluate(testing::line(4, 2, 1));
  });
}

TEST_CASE("calls that differ name replicas under a strategy, and towers else", "[estimator][distribute][E121]") {
  const auto other_mode = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    const at::Tensor loss = loss_of(features, labels, ctx);
    if (is_second(ctx)) return EstimatorSpec::eval(loss, {});
    return EstimatorSpec::train(loss, minimized(loss, ctx));
  };
  check_both(other_mode, " 1: the model_fn was called for mode");
  const auto other_call = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    const at::Tensor loss = loss_of(features, labels, ctx);
    if (!is_second(ctx)) return EstimatorSpec::train(loss, minimized(loss, ctx));
    return EstimatorSpec::train(loss, TowerOptimizer(Momentum({.learning_rate = 0.1})).minimize(loss, ctx));
  };
  check_both(other_call, "has to make the same optimizer calls in the same order; call 1 of ");
  const auto disconnected = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    loss_of(features, labels, ctx);
    const at::Tensor loss = at::ones({}).requires_grad_();
    return EstimatorSpec::train(loss, minimized(loss, ctx));
  };
  check_both(disconnected, "no gradients are provided: in no ");
}

TEST_CASE("a row, a lone row and what verify_towers_every finds name replicas under a strategy, and towers else",
          "[estimator][distribute][E121]") {
  const auto bad_label = [](const Features& features, const Labels&, ModeKeys, ModelContext& ctx) {
    // Two values for each row of the slice: the row of the batch is not known.
    const at::Tensor logits = testing::linear_output(features, ctx).reshape({-1, 1}).repeat({2, 3});
    const at::Tensor labels = at::full({logits.size(0)}, is_second(ctx) ? 7 : 0, at::kLong);
    const at::Tensor loss = losses::sparse_softmax_cross_entropy(labels, logits, ctx);
    return EstimatorSpec::train(loss, minimized(loss, ctx));
  };
  check_both(bad_label, " 1's ");
  const auto batch_norm = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    auto norm = ctx.module("norm", [] { return torch::nn::BatchNorm1d(1); });
    const at::Tensor x = testing::linear_output(features, ctx).to(at::kFloat).reshape({-1, 1});
    const at::Tensor loss = losses::mean_squared_error(labels.tensor().reshape({-1, 1}), norm->forward(x), ctx);
    return EstimatorSpec::train(loss, minimized(loss, ctx));
  };
  check_both(batch_norm, " has one row of the batch", [](Estimator& estimator) {
    const bool towers = !estimator.config().train_distribute;
    estimator.train(testing::line(4, towers ? 2 : 1), {.steps = 1});
  });
}

TEST_CASE("verify_towers_every speaks of replicas under a strategy", "[estimator][distribute][E121]") {
  const auto wrong = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    const at::Tensor output = testing::linear_output(features, ctx) + features["x"].max();
    const at::Tensor loss = losses::mean_squared_error(labels.tensor(), output, ctx);
    return EstimatorSpec::train(loss, minimized(loss, ctx));
  };
  const TemporaryDirectory dir;
  RunConfig config = testing::quiet(dir.path());
  config.train_distribute = testing::strategy_named("mirrored_2");
  config.verify_towers_every = 1;
  Estimator estimator(wrong, config);
  CHECK_FAILS(train(estimator), ErrorKind::kFailedPrecondition,
              "over the replicas: what it is given depends on which rows a replica has");
}

TEST_CASE("a loss that one replica leaves out is warned of by its name", "[estimator][distribute][E121]") {
  const auto model_fn = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    const at::Tensor output = testing::linear_output(features, ctx);
    at::Tensor loss = at::zeros({}, output.options());
    for (int i = 0; i < (is_second(ctx) ? 1 : 2); ++i) {
      loss = loss + losses::mean_squared_error(labels.tensor(), output, ctx);
    }
    return EstimatorSpec::train(loss, minimized(loss, ctx));
  };
  const TemporaryDirectory dir;
  RunConfig config = testing::quiet(dir.path());
  config.train_distribute = testing::strategy_named("mirrored_2");
  Estimator estimator(model_fn, config);
  const testing::CapturedLog log;
  train(estimator);
  INFO(log.text());
  CHECK(log.count(LogLevel::kWarning, "2 times in replica 0 and 1 times in replica 1") == 1);
}

TEST_CASE("where replicas meet is logged once for each choice, however many calls", "[estimator][distribute][E121]") {
  const TemporaryDirectory dir;
  RunConfig config = testing::quiet(dir.path());
  // Devices that no other test of the process has.
  const auto over = [&](const std::vector<std::string>& devices) {
    config.train_distribute = config.eval_distribute =
        std::make_shared<MirroredStrategy>(MirroredStrategyOptions{.devices = devices});
    Estimator estimator(testing::linear_model_fn, config);
    train(estimator);
    estimator.evaluate(testing::line(4, 2, 1));
  };
  const testing::CapturedLog log;
  over({"cpu:0", "cpu:11"});
  over({"cpu:0", "cpu:11"});
  CHECK(log.count(LogLevel::kInfo, "cpu:0, cpu:11: replicas meet in shared memory") == 1);
  over({"cpu:0", "cpu:12"});
  CHECK(log.count(LogLevel::kInfo, "cpu:0, cpu:12: replicas meet in shared memory") == 1);
}

}  // namespace belfry
