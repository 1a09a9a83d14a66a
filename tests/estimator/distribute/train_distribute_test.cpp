// An Estimator under strategies, as a user would.
#include <ATen/ATen.h>

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/linear.h>

#include <atomic>
#include <mutex>
#include <set>

#include "checkpoint/checkpoint_reader.h"
#include "distribute/distributed_variable.h"
#include "distribute/strategy_extended.h"
#include "distribute/sync_batch_norm_module.h"
#include "estimator/estimator.h"
#include "estimator/losses/losses.h"
#include "estimator/metrics/auc.h"
#include "estimator/metrics/means.h"
#include "optimizers/clip_gradients.h"
#include "optimizers/momentum.h"
#include "tests/distribute/strategies.h"
#include "tests/estimator/linear_model.h"
#include "tests/support/check_fails.h"
#include "tests/support/reference.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"
#include "towers/replicate_model_fn.h"
#include "towers/tower_optimizer.h"

namespace belfry {
namespace {

using Catch::Contains;
using testing::strategy_named;
using testing::TemporaryDirectory;

const std::vector<std::string> kStrategies = {"one_device", "mirrored_1", "mirrored_2", "mirrored_3",
                                              "central_1",  "central_2",  "central_3"};

RunConfig under(const std::string& directory, const std::string& strategy) {
  RunConfig config = testing::quiet(directory);
  if (strategy.empty()) return config;
  config.train_distribute = strategy_named(strategy);
  config.eval_distribute = strategy_named(strategy);
  return config;
}

int replicas_of(const std::string& strategy) { return strategy_named(strategy)->num_replicas_in_sync(); }

template <class Holder>
Holder in_double(Holder module) {
  module->to(at::kDouble);
  return module;
}

// A classifier with all that depends on which rows a replica has: weights, clipping by the global norm, momentum, a
// mean of means that would be wrong, metrics with their own weights.
EstimatorSpec classifier(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto net = ctx.module("net", [] { return in_double(torch::nn::Linear(3, 2)); });
  const at::Tensor logits = net->forward(features["x"]);
  if (mode == ModeKeys::kPredict) return EstimatorSpec::predict({{"logits", logits}});
  const at::Tensor loss =
      losses::sparse_softmax_cross_entropy(labels.tensor(), logits, ctx, {.weights = features["weight"]});
  if (mode == ModeKeys::kEval) {
    return EstimatorSpec::eval(loss, {{"auc", metrics::auc(labels.tensor().ne(0), logits.softmax(1).select(1, 1))},
                                      {"mean", metrics::mean(logits, features["weight"].unsqueeze(1))}});
  }
  const Optimizer optimizer = TowerOptimizer(Momentum({.learning_rate = 0.5, .momentum = 0.9}));
  GradientsAndVariables gradients = optimizer.compute_gradients(loss, ctx);
  return EstimatorSpec::train(loss, optimizer.apply_gradients(clip_by_global_norm(gradients, 0.1), ctx));
}

Features rows(int64_t count) {
  const at::Tensor numbers = at::arange(count * 3, at::kDouble).reshape({count, 3});
  return {{"x", (numbers * 0.7).sin()}, {"weight", (at::arange(count, at::kDouble) % 4) + 0.25}};
}

Labels classes(int64_t count) { return {{"", at::arange(count, at::kLong) % 2}}; }

// `count` rows, in batches of which the last may be short.
InputFn batches(int64_t count, int64_t size, int64_t passes = 1) {
  return [=] { return Dataset::from_tensors(rows(count), classes(count)).repeat(passes).batch(size); };
}

void check_same_variables(const Estimator& one, const Estimator& other) {
  const std::vector<std::string> names = one.get_variable_names();
  REQUIRE(names == other.get_variable_names());
  for (const std::string& name : names) {
    if (name.starts_with("belfry/")) continue;
    INFO(name);
    testing::check_close(one.get_variable_value(name), other.get_variable_value(name), 1e-10, 1e-12);
  }
}

}  // namespace

TEST_CASE("a model_fn trains and evaluates equally on one device, over towers and under each strategy",
          "[estimator][distribute][E121][S6]") {
  const std::string& strategy = GENERATE(from_range(kStrategies));
  INFO(strategy);
  const int replicas = replicas_of(strategy);
  const TemporaryDirectory here, there, yonder;
  Estimator one(classifier, testing::quiet(here.path()));
  Estimator towers(replicate_model_fn(classifier, {.devices = testing::cpus(replicas)}), testing::quiet(there.path()));
  Estimator distributed(classifier, under(yonder.path(), strategy));
  // 5 rows for each replica; the last step has fewer rows, and not for all replicas.
  const int64_t count = 4 * 5 * replicas + 3, large = 5 * replicas;
  const TrainResult expected = one.train(batches(count, large));
  towers.train(batches(count, large));
  const TrainResult result = distributed.train(batches(count, 5));
  CHECK(expected.steps == 5);
  CHECK(result.steps == expected.steps);
  CHECK(result.examples_seen == expected.examples_seen);
  CHECK(result.loss == Approx(expected.loss).epsilon(1e-10));
  check_same_variables(one, towers);
  check_same_variables(one, distributed);
  CHECK(one.get_variable_value("training/Momentum/net/weight/momentum").abs().min().item<double>() > 0);

  const EvalResult wanted = one.evaluate(batches(count, large)), got = distributed.evaluate(batches(count, 5));
  for (const char* name : {"loss", "auc", "mean"}) CHECK(got[name] == Approx(wanted[name]).epsilon(1e-10));
  const Predictions predicted = distributed.predict(rows(4));
  testing::check_close(predicted["logits"], one.predict(rows(4))["logits"], 1e-10, 1e-12);
}

TEST_CASE("checkpoints of a strategy are those of one device and of other strategies",
          "[estimator][distribute][E121][S30]") {
  const TemporaryDirectory here, there;
  Estimator whole(classifier, testing::quiet(here.path()));
  whole.train(batches(60, 12));
  // Each part in a process of its own, as it were.
  const auto go_on = [&](const std::string& strategy, int64_t size) {
    Estimator part(classifier, under(there.path(), strategy));
    part.train(batches(60, size), {.steps = 1, .continue_input = true});
  };
  go_on("mirrored_2", 6);
  // The input's place counts batches, so that it is the same for these: all in batches of 6.
  go_on("central_2", 6);
  go_on("mirrored_2", 6);
  Estimator last(classifier, under(there.path(), "one_device"));
  const TrainResult rest = last.train(batches(60, 6), {.continue_input = true});
  CHECK(rest.steps == 4);
  CHECK(rest.examples_seen == 60);
  CHECK(last.latest_checkpoint().has_value());
}

TEST_CASE("the model_fn of a strategy sees its replica, and its replicas meet", "[estimator][distribute][X2][X10]") {
  const std::string strategy = GENERATE("mirrored_3", "central_3", "one_device");
  const int replicas = replicas_of(strategy);
  std::mutex mutex;
  std::set<std::pair<int, int>> seen;
  std::vector<double> sums, merged;
  const auto model_fn = [&](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    const at::Tensor w = ctx.variable("w", [] { return at::ones({}); });
    ReplicaContext* replica = get_replica_context();
    const double sum = replica->all_reduce("sum", features["x"].sum()).template item<double>();
    const at::Tensor total = replica->merge_call(
        [](Strategy& across, const PerReplica<at::Tensor>& rows) { return across.reduce("sum", rows); },
        at::full({}, static_cast<double>(features["x"].size(0))));
    {
      const std::lock_guard lock(mutex);
      seen.emplace(replica->replica_id(), replica->num_replicas_in_sync());
      sums.push_back(sum);
      merged.push_back(total.item<double>());
    }
    const at::Tensor loss = losses::mean_squared_error(labels.tensor(), features["x"] * w, ctx);
    require(mode == ModeKeys::kTrain, "only training is meant");
    return EstimatorSpec::train(loss, testing::descend(loss, ctx));
  };
  const TemporaryDirectory dir;
  Estimator estimator(model_fn, under(dir.path(), strategy));
  const auto input = [&] {
    const at::Tensor x = at::arange(2 * replicas + 1, at::kFloat);
    return Dataset::from_tensors({{"x", x}}, x).batch(2);
  };
  estimator.train(input, {.steps = 1});
  CHECK(seen.size() == static_cast<size_t>(replicas));
  for (const auto& [id, count] : seen) CHECK(count == replicas);
  const double all = replicas * (2.0 * replicas - 1);  // 0 + 1 + .. + (2 replicas - 1)
  for (const double sum : sums) CHECK(sum == all);
  for (const double rows : merged) CHECK(rows == 2 * replicas);

  // The last row is for one replica alone.
  seen.clear();
  sums.clear();
  merged.clear();
  CHECK(estimator.train(input, {.continue_input = true}).steps == 1);
  CHECK(seen == std::set<std::pair<int, int>>{{0, 1}});
  CHECK(sums == std::vector<double>{2.0 * replicas});
  CHECK(merged == std::vector<double>{1});
  CHECK_FALSE(has_strategy());
}

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

TEST_CASE("an input_fn goes by the number of replicas", "[estimator][distribute][S36][E37]") {
  std::vector<InputContext> contexts;
  const auto input = [&](const InputContext& context) {
    contexts.push_back(context);
    return batches(24, context.get_per_replica_batch_size(12), 2)();
  };
  const TemporaryDirectory here, there;
  Estimator one(classifier, testing::quiet(here.path())), three(classifier, under(there.path(), "mirrored_3"));
  one.train(input);
  three.train(input);
  three.evaluate(input);
  REQUIRE(contexts.size() == 3);
  CHECK(contexts[0].num_replicas_in_sync == 1);
  CHECK(contexts[1].num_replicas_in_sync == 3);
  CHECK(contexts[2].num_replicas_in_sync == 3);
  CHECK(contexts[1].num_input_pipelines == 1);
  check_same_variables(one, three);
}

TEST_CASE("running statistics under a strategy are the mean over replicas by rows", "[estimator][distribute][S28]") {
  const auto model_fn = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    auto norm = ctx.module(
        "norm", [] { return in_double(torch::nn::BatchNorm1d(torch::nn::BatchNormOptions(3).momentum(0.5))); });
    const at::Tensor out =
        norm->forward(features["x"]).sum(1) + ctx.variable("bias", [] { return at::zeros({}, at::kDouble); });
    const at::Tensor loss = losses::mean_squared_error(labels.tensor().to(at::kDouble), out, ctx);
    return EstimatorSpec::train(loss, testing::descend(loss, ctx));
  };
  const TemporaryDirectory dir;
  Estimator estimator(model_fn, under(dir.path(), "mirrored_2"));
  estimator.train(batches(6, 4), {.steps = 1});  // 4 rows and 2
  const at::Tensor x = rows(6)["x"];
  const at::Tensor mean = x.narrow(0, 0, 4).mean(0) * (4.0 / 6) + x.narrow(0, 4, 2).mean(0) * (2.0 / 6);
  testing::check_close(estimator.get_variable_value("norm/running_mean"), 0.5 * mean, 1e-10, 1e-12);
}

TEST_CASE("what a replica throws ends the train call and leaves the Estimator usable",
          "[estimator][distribute][E121]") {
  std::atomic<bool> fails = false;
  const auto model_fn = [&](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    if (fails && ctx.tower_index() == 1) fail(ErrorKind::kOutOfRange, "replica 1 cannot go on");
    return testing::linear_model_fn(features, labels, mode, ctx);
  };
  const TemporaryDirectory dir;
  Estimator estimator(model_fn, under(dir.path(), "mirrored_2"));
  estimator.train(testing::line(), {.steps = 1});
  const double before = testing::saved(estimator, "linear/w");
  fails = true;
  CHECK_FAILS(estimator.train(testing::line(), {.steps = 1}), ErrorKind::kOutOfRange, "replica 1 cannot go on");
  CHECK_FAILS(estimator.evaluate(testing::line(16, 4, 1)), ErrorKind::kOutOfRange, "replica 1 cannot go on");
  fails = false;
  CHECK(testing::saved(estimator, "linear/w") == before);
  CHECK(estimator.train(testing::line(), {.steps = 1}).global_step == 2);
  CHECK(estimator.evaluate(testing::line(16, 4, 1)).global_step() == 2);
}

TEST_CASE("towers inside a strategy are refused", "[estimator][distribute][R5]") {
  const TemporaryDirectory dir;
  Estimator estimator(replicate_model_fn(classifier, {.devices = testing::cpus(2)}), under(dir.path(), "mirrored_2"));
  CHECK_FAILS(estimator.train(batches(8, 2)), ErrorKind::kInvalidArgument,
              "runs under MirroredStrategy, which makes replicas itself");
}

TEST_CASE("one strategy serves several Estimators, and an evaluation inside a training",
          "[estimator][distribute][E121]") {
  class Evaluate : public SessionRunHook {
   public:
    explicit Evaluate(Estimator& estimator) : estimator_(estimator) {}
    void after_run(RunContext&) override { ++evaluations, estimator_.evaluate(batches(8, 2)); }
    int evaluations = 0;

   private:
    Estimator& estimator_;
  };
  const TemporaryDirectory here, there;
  RunConfig config = under(here.path(), "mirrored_2");
  config.eval_distribute = config.train_distribute;
  Estimator one(classifier, config);
  config.model_dir = there.path();
  Estimator other(classifier, config);
  const auto hook = std::make_shared<Evaluate>(one);
  one.train(batches(8, 2), {.hooks = {hook}});
  other.train(batches(8, 2));
  CHECK(hook->evaluations == 2);
  check_same_variables(one, other);
}

TEST_CASE("verify_towers_every compares the replicas of a strategy with one device", "[estimator][distribute][E121]") {
  const auto wrong = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    // A maximum over the replica's own rows.
    const at::Tensor loss = losses::mean_squared_error(labels.tensor(), testing::linear_output(features, ctx), ctx) +
                            features["x"].max() * ctx.variable("scale", [] { return at::ones({}); });
    return EstimatorSpec::train(loss, testing::descend(loss, ctx));
  };
  const TemporaryDirectory here, there;
  RunConfig config = under(here.path(), "mirrored_2");
  config.verify_towers_every = 1;
  Estimator right(testing::linear_model_fn, config);
  CHECK(right.train(testing::line(16, 3), {.steps = 6}).steps == 6);
  config.model_dir = there.path();
  Estimator bad(wrong, config);
  CHECK_FAILS(bad.train(testing::line(16, 3)), ErrorKind::kFailedPrecondition, "verify_towers_every");
}

TEST_CASE("batches without examples are left out of a step", "[estimator][distribute][E6]") {
  const auto input = [] {
    return Dataset::from_generator(
        [] {
          return [batch = 0]() mutable -> std::optional<Batch> {
            if (++batch > 6) return std::nullopt;
            const int64_t size = batch % 2 ? 3 : 0;
            return Batch{testing::line_features(size), testing::line_labels(size)};
          };
        },
        {.batched = true});
  };
  const TemporaryDirectory dir;
  Estimator estimator(testing::linear_model_fn, under(dir.path(), "mirrored_2"));
  const TrainResult result = estimator.train(input);
  CHECK(result.steps == 3);
  CHECK(result.examples_seen == 9);
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

TEST_CASE("update_config_proto gives a copy of a config under the strategy", "[estimator][distribute][S34][S54]") {
  const TemporaryDirectory dir;
  const RunConfig before = testing::quiet(dir.path());
  const auto strategy = strategy_named("mirrored_2");
  const RunConfig after = strategy->update_config_proto(before);
  CHECK_FALSE(before.train_distribute);
  REQUIRE(after.train_distribute);
  CHECK(after.model_dir == before.model_dir);
  CHECK(after.train_distribute.get() != strategy.get());
  CHECK(after.train_distribute->name() == "MirroredStrategy");
  CHECK(after.eval_distribute->num_replicas_in_sync() == 2);
  CHECK_FALSE(get_strategy().update_config_proto(before).train_distribute);
  Estimator estimator(classifier, after);
  CHECK(estimator.train(batches(8, 2)).steps == 2);
}

TEST_CASE("an Estimator runs in whatever scope it is called", "[estimator][distribute][S26][S33]") {
  const TemporaryDirectory here, there;
  RunConfig config = under(here.path(), "mirrored_2");
  Estimator plain(classifier, config);
  plain.train(batches(8, 2));
  const std::shared_ptr<Strategy> own = strategy_named("mirrored_2");
  config.train_distribute = own;
  config.model_dir = there.path();
  Estimator inside(classifier, config);
  {
    const StrategyScope scope = own->scope();
    CHECK(inside.train(batches(8, 2), {.steps = 1}).steps == 1);
    CHECK(&get_strategy() == own.get());
  }
  const auto other = strategy_named("central_2");
  experimental_set_strategy(other.get());
  CHECK(inside.train(batches(8, 2), {.continue_input = true}).steps == 1);
  CHECK(&get_strategy() == other.get());
  experimental_set_strategy(nullptr);
  check_same_variables(plain, inside);
}

namespace {

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

TEST_CASE("a lone last row under synchronized batch norm is a step", "[estimator][distribute]") {
  const auto model = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    const at::Tensor x = features["x"].unsqueeze(1);
    const at::Tensor y = ctx.module("norm", [] { return SyncBatchNorm(1); })->forward(x).squeeze(1) +
                         testing::linear_output(features, ctx);
    const at::Tensor loss = losses::mean_squared_error(labels.tensor(), y, ctx);
    return EstimatorSpec::train(loss, testing::descend(loss, ctx));
  };
  const TemporaryDirectory dir;
  Estimator estimator(model, under(dir.path(), "mirrored_3"));
  CHECK(estimator.train(testing::line(10, 3, 1)).steps == 2);
  CHECK(std::isfinite(testing::saved(estimator, "norm/running_var")));
}

TEST_CASE("a variable is updated in a merge function of an incomplete step", "[estimator][distribute][S5]") {
  const auto model = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    DistributedVariable rows =
        get_variable("rows", at::zeros({}),
                     {.synchronization = VariableSynchronization::kOnRead, .aggregation = VariableAggregation::kSum});
    get_replica_context()->merge_call(
        [&](Strategy& across, const PerReplica<at::Tensor>& counts) {
          across.extended().update(
              rows, [](at::Tensor& copy, const at::Tensor& count) { copy.add_(count); }, counts);
        },
        at::full({}, static_cast<double>(labels.rows())));
    const at::Tensor loss = losses::mean_squared_error(labels.tensor(), testing::linear_output(features, ctx), ctx);
    return EstimatorSpec::train(loss, testing::descend(loss, ctx));
  };
  const TemporaryDirectory dir;
  Estimator estimator(model, under(dir.path(), "mirrored_3"));
  CHECK(estimator.train(testing::line(10, 2, 1)).steps == 2);
  CHECK(testing::saved(estimator, "rows") == 10);
}

}  // namespace belfry
