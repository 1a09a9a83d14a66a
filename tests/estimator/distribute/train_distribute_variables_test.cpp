// Variables of a strategy that a model_fn makes.
#include <ATen/ATen.h>

#include "checkpoint/checkpoint_reader.h"
#include "classifier.h"
#include "core/file_system.h"
#include "distribute/distributed_variable.h"
#include "estimator/losses/losses.h"
#include "estimator/metrics/means.h"
#include "optimizers/momentum.h"
#include "tests/estimator/linear_model.h"
#include "tests/support/check_fails.h"
#include "tests/support/reference.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"
#include "towers/replicate_model_fn.h"
#include "towers/tower_optimizer.h"

namespace belfry {
namespace {

using testing::replicas_of;
using testing::TemporaryDirectory;
using testing::under;

// Counts rows in a variable, in TRAIN and EVAL.
EstimatorSpec counting(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx,
                       VariableSynchronization synchronization) {
  DistributedVariable rows =
      get_variable("rows", at::zeros({}, at::kLong),
                   {.trainable = false, .synchronization = synchronization, .aggregation = VariableAggregation::kSum});
  const at::Tensor y = testing::linear_output(features, ctx);
  if (mode == ModeKeys::kPredict) return EstimatorSpec::predict({{"rows", rows.value().expand({y.size(0)})}});
  rows.assign_add(at::full({}, labels.rows(), at::kLong));
  const at::Tensor loss = losses::mean_squared_error(labels.tensor(), y, ctx);
  const at::Tensor counted = rows.value().to(at::kFloat);
  if (mode == ModeKeys::kEval) return EstimatorSpec::eval(loss, {{"rows", metrics::mean(counted.detach())}});
  return EstimatorSpec::train(loss, testing::descend(loss, ctx));
}

// Vetoes or throws in its first steps.
class Refuse : public SessionRunHook {
 public:
  Refuse(int steps, bool throws) : left_(steps), throws_(throws) {}
  void before_apply(RunContext& context) override {
    if (left_-- <= 0) return;
    require(!throws_, "the hook wants no step");
    context.veto();
  }

 private:
  int left_;
  bool throws_;
};

}  // namespace

TEST_CASE("variables of a strategy in a model_fn are of the Estimator's checkpoint",
          "[estimator][distribute][S28][S32]") {
  const TemporaryDirectory dir;
  const auto model_fn = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    DistributedVariable rows =
        get_variable("rows", [] { return at::zeros({}, at::kDouble); },
                     {.synchronization = VariableSynchronization::kOnRead, .aggregation = VariableAggregation::kSum});
    rows.assign_add(at::full({}, static_cast<double>(labels.rows()), at::kDouble));
    const at::Tensor loss = losses::mean_squared_error(labels.tensor(), testing::linear_output(features, ctx), ctx);
    return EstimatorSpec::train(loss, testing::descend(loss, ctx));
  };
  Estimator estimator(model_fn, under(dir.path(), "mirrored_2"));
  estimator.train(testing::line(16, 4), {.steps = 3});
  CHECK(testing::saved(estimator, "rows") == 24);
  Estimator next(model_fn, under(dir.path(), "mirrored_2"));
  next.train(testing::line(16, 4), {.steps = 2});
  CHECK(testing::saved(next, "rows") == 40);
}

TEST_CASE("a variable of get_variable is the model's, with and without a strategy",
          "[estimator][distribute][S32][S49]") {
  const auto model_fn = [](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    const DistributedVariable w = get_variable("w", at::zeros({}));
    DistributedVariable rows =
        get_variable("rows", at::zeros({}, at::kLong),
                     {.synchronization = VariableSynchronization::kOnRead, .aggregation = VariableAggregation::kSum});
    const at::Tensor y = features["x"] * w.value();
    if (mode == ModeKeys::kPredict) return EstimatorSpec::predict({{"y", y}});
    const at::Tensor loss = losses::mean_squared_error(labels.tensor(), y, ctx);
    if (mode == ModeKeys::kEval) return EstimatorSpec::eval(loss);
    rows.assign_add(at::full({}, labels.rows(), at::kLong));
    return EstimatorSpec::train(loss, TowerOptimizer(Momentum({.learning_rate = 0.1})).minimize(loss, ctx));
  };
  const auto input = [](const InputContext& context) {
    return testing::line(16, context.get_per_replica_batch_size(4))();
  };
  const auto trained = [&](const ModelFn& model, RunConfig config) {
    config.verify_towers_every = 1;
    Estimator estimator(model, config);
    estimator.train(input, {.steps = 3});
    CHECK(testing::saved(estimator, "rows") == 12);
    const at::Tensor w = estimator.get_variable_value("w");
    CHECK(w.item<double>() != 0);
    CHECK(estimator.predict({{"x", at::ones({1})}})["y"].item<double>() == Approx(w.item<double>()));
    return w;
  };
  const TemporaryDirectory here, there, yonder, beyond;
  const at::Tensor one = trained(model_fn, testing::quiet(here.path()));
  testing::check_close(trained(model_fn, under(there.path(), "mirrored_2")), one, 1e-6);
  testing::check_close(trained(model_fn, under(yonder.path(), "central_2")), one, 1e-6);
  testing::check_close(
      trained(replicate_model_fn(model_fn, {.devices = testing::cpus(2)}), testing::quiet(beyond.path())), one, 1e-6);
}

TEST_CASE("what is assigned in a step that does not count is undone", "[estimator][distribute][S28]") {
  const std::string strategy = GENERATE("", "one_device", "mirrored_2", "central_2");
  const auto synchronization = GENERATE(VariableSynchronization::kOnRead, VariableSynchronization::kOnWrite);
  INFO(strategy << " " << to_string(synchronization));
  const int64_t rows = strategy.empty() ? 4 : 4 * replicas_of(strategy);
  const auto model = [&](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    return counting(features, labels, mode, ctx, synchronization);
  };
  const TemporaryDirectory dir;
  RunConfig config = under(dir.path(), strategy);
  config.save_checkpoints_steps = 1000;
  Estimator estimator(model, config);
  CHECK_THROWS(estimator.train(testing::line(), {.steps = 1, .hooks = {std::make_shared<Refuse>(1, true)}}));
  estimator.train(testing::line(), {.steps = 1, .hooks = {std::make_shared<Refuse>(2, false)}});
  CHECK(testing::saved(estimator, "rows") == static_cast<double>(rows));
  // Of the checkpoint before the first step.
  const CheckpointReader start(join_path(dir.path(), "model.ckpt-0"), posix_file_system());
  CHECK(start.tensor("rows").item<int64_t>() == 0);
  estimator.train(testing::line(), {.steps = 2});
  CHECK(testing::saved(estimator, "rows") == static_cast<double>(3 * rows));
}

TEST_CASE("what an evaluation assigns is not seen by the next call", "[estimator][distribute][S28]") {
  const std::string strategy = GENERATE("", "mirrored_2", "central_2");
  const auto synchronization = GENERATE(VariableSynchronization::kOnRead, VariableSynchronization::kOnWrite);
  INFO(strategy << " " << to_string(synchronization));
  const auto model = [&](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    return counting(features, labels, mode, ctx, synchronization);
  };
  const TemporaryDirectory dir;
  Estimator estimator(model, under(dir.path(), strategy));
  estimator.train(testing::line(), {.steps = 1});
  const double trained = testing::saved(estimator, "rows");
  const double once = estimator.evaluate(testing::line(16, 4, 1))["rows"];
  CHECK(estimator.evaluate(testing::line(16, 4, 1))["rows"] == once);
  const Predictions predicted = estimator.predict({{"x", at::ones({2})}});
  // An ON_READ total is divided among replicas, of which one predicts.
  if (strategy != "mirrored_2" || synchronization == VariableSynchronization::kOnWrite) {
    CHECK(predicted["rows"].to(at::kDouble).max().item<double>() == trained);
  }
  CHECK(testing::saved(estimator, "rows") == trained);
}

TEST_CASE("copies that no optimizer can move are not read as trainable", "[estimator][distribute][S28]") {
  const auto model = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    const DistributedVariable w =
        get_variable("w", at::zeros({}), {.trainable = true, .synchronization = VariableSynchronization::kOnRead});
    const at::Tensor loss = losses::mean_squared_error(labels.tensor(), features["x"] * w.value(), ctx);
    return EstimatorSpec::train(loss, testing::descend(loss, ctx));
  };
  const TemporaryDirectory here, there;
  Estimator mirrored(model, under(here.path(), "mirrored_2"));
  CHECK_FAILS(mirrored.train(testing::line(), {.steps = 1}), ErrorKind::kInvalidArgument,
              "variable 'w' is trainable and another one on each replica");
  Estimator central(model, under(there.path(), "central_2"));
  central.train(testing::line(), {.steps = 1});
  CHECK(testing::saved(central, "w") != 0);
}

}  // namespace belfry
