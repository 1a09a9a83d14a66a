// TowerOptimizer's accumulate_steps.
#include <numeric>

#include "estimator/estimator.h"
#include "estimator/losses/losses.h"
#include "optimizers/adagrad.h"
#include "optimizers/adam.h"
#include "optimizers/ftrl.h"
#include "optimizers/momentum.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"
#include "tests/towers/abs_model.h"

namespace belfry {
namespace {

using testing::cpus;
using testing::TemporaryDirectory;
using testing::TowerRunner;
using testing::towers;

constexpr int64_t kRows = 12;

const at::Tensor& inputs() {
  static const at::Tensor x = at::sin(at::arange(kRows * 3, at::kDouble)).reshape({kRows, 3});
  return x;
}
const at::Tensor& answers() {
  static const at::Tensor y = at::cos(at::arange(kRows, at::kDouble)).unsqueeze(1);
  return y;
}

// A line through three features, with the mean or the sum of the squared errors as the loss.
ModelFn line_model(const Optimizer& optimizer, LossReduction reduction = LossReduction::kMean) {
  return [optimizer, reduction](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    const at::Tensor w = ctx.variable("w", [] { return at::full({3, 1}, 0.5, at::kDouble); });
    const at::Tensor b = ctx.variable("b", [] { return at::zeros({1}, at::kDouble); });
    const at::Tensor output = features.only().tensor().mm(w) + b;
    const at::Tensor loss = losses::mean_squared_error(labels.tensor(), output, ctx, {.reduction = reduction});
    return EstimatorSpec::train(loss, optimizer.minimize(loss, ctx));
  };
}

// Steps over consecutive rows, so many each.
void train_rows(TowerRunner& runner, const std::vector<int64_t>& rows) {
  int64_t start = 0;
  for (const int64_t count : rows) {
    runner.train(inputs().narrow(0, start, count), answers().narrow(0, start, count));
    start += count;
  }
}

std::vector<Optimizer> all_kinds() {
  return {GradientDescent({.learning_rate = 0.1}), Momentum({.learning_rate = 0.1, .momentum = 0.9}),
          Adagrad({.learning_rate = 0.1}), Adam({.learning_rate = 0.1}), Ftrl({.learning_rate = 0.1})};
}

void check_same_variables(const TowerRunner& a, const TowerRunner& b, double tolerance = 1e-12) {
  for (const Variable* variable : b.store().variables()) {
    if (variable->name().find("/accumulated") != std::string::npos || variable->name() == "global_step") continue;
    INFO(variable->name());
    CHECK(at::allclose(a.value(variable->name()).to(at::kDouble), variable->value().to(at::kDouble), tolerance,
                       tolerance));
  }
}

TEST_CASE("accumulate_steps: steps of uneven batches come to one step of their rows together",
          "[towers][optimizer][accumulate]") {
  for (const Optimizer& inner : all_kinds()) {
    for (const int count : {1, 2, 3}) {
      CAPTURE(inner.name(), count);
      TowerRunner gathered(towers(line_model(TowerOptimizer(inner, {.accumulate_steps = 3})), count));
      TowerRunner whole(towers(line_model(TowerOptimizer(inner)), count));
      for (int round = 0; round < 3; ++round) {
        train_rows(gathered, {5, 3, 4});
        train_rows(whole, {12});
      }
      check_same_variables(gathered, whole);
      CHECK(gathered.store().global_step() == 9);
    }
  }
}

TEST_CASE("accumulate_steps: sums of losses add up", "[towers][optimizer][accumulate]") {
  const TowerOptimizer optimizer(GradientDescent({.learning_rate = 0.01}),
                                 {.accumulate_steps = 2, .accumulation = AccumulationKind::kSum});
  for (const int count : {1, 2}) {
    TowerRunner gathered(towers(line_model(optimizer, LossReduction::kSum), count, LossReduction::kSum));
    TowerRunner whole(towers(line_model(TowerOptimizer(GradientDescent({.learning_rate = 0.01})), LossReduction::kSum),
                             count, LossReduction::kSum));
    train_rows(gathered, {7, 5});
    train_rows(whole, {12});
    check_same_variables(gathered, whole);
  }
}

TEST_CASE("accumulate_steps: variables stay until the window is full, or the input ends",
          "[towers][optimizer][accumulate]") {
  TowerRunner runner(towers(line_model(TowerOptimizer(Adam({.learning_rate = 0.1}), {.accumulate_steps = 4})), 2));
  train_rows(runner, {2, 2, 2});
  CHECK(runner.value("w").equal(at::full({3, 1}, 0.5, at::kDouble)));
  CHECK(runner.value("training/Adam/w/m").equal(at::zeros({3, 1}, at::kDouble)));
  CHECK(runner.value("belfry/training/Adam/iterations").item<int64_t>() == 0);
  CHECK(runner.value("belfry/training/Adam/accumulated_steps").item<int64_t>() == 3);
  CHECK(runner.number("belfry/training/Adam/accumulated_rows") == 6);
  train_rows(runner, {2});
  CHECK_FALSE(runner.value("w").equal(at::full({3, 1}, 0.5, at::kDouble)));
  CHECK(runner.value("belfry/training/Adam/iterations").item<int64_t>() == 1);
  CHECK(runner.value("belfry/training/Adam/accumulated_steps").item<int64_t>() == 0);
  const at::Tensor after = runner.value("w").clone();
  runner.train(inputs(), answers());
  CHECK(runner.value("w").equal(after));
  runner.train(inputs(), answers(), /*ends_input=*/true);
  CHECK_FALSE(runner.value("w").equal(after));
  CHECK(runner.value("belfry/training/Adam/iterations").item<int64_t>() == 2);
}

// Embeds "id", by row-sparse gradients if asked for; a part "late" takes part where "late" is not 0.
ModelFn embedding_model(const Optimizer& optimizer, bool sparse) {
  return [optimizer, sparse](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    const at::Tensor table = ctx.variable("table", [] { return at::ones({6, 2}, at::kDouble); });
    at::Tensor output = at::embedding(table, features["id"], -1, /*scale_grad_by_freq=*/false, sparse).sum(1, true);
    if (features["late"].any().item<bool>()) {
      output = output + ctx.variable("late", [] { return at::ones({1}, at::kDouble); });
    }
    const at::Tensor loss = losses::mean_squared_error(labels.tensor(), output, ctx);
    return EstimatorSpec::train(loss, optimizer.minimize(loss, ctx));
  };
}

Features ids(std::vector<int64_t> values, bool late = false) {
  const auto rows = static_cast<int64_t>(values.size());
  return {{"id", at::tensor(values, at::kLong)}, {"late", at::full({rows}, late)}};
}

at::Tensor column_of(int64_t rows, double value) { return at::full({rows, 1}, value, at::kDouble); }

TEST_CASE("accumulate_steps: only rows that occurred in the window move, as with one batch",
          "[towers][optimizer][accumulate]") {
  for (const Optimizer& inner : all_kinds()) {
    for (const int count : {1, 2}) {
      CAPTURE(inner.name(), count);
      TowerRunner gathered(towers(embedding_model(TowerOptimizer(inner, {.accumulate_steps = 2}), true), count));
      TowerRunner whole(towers(embedding_model(TowerOptimizer(inner), true), count));
      for (int round = 0; round < 3; ++round) {
        gathered.train(ids({0, 1, 1, round}), column_of(4, 1));
        gathered.train(ids({3, 0}), column_of(2, 1));
        whole.train(ids({0, 1, 1, round, 3, 0}), column_of(6, 1));
      }
      check_same_variables(gathered, whole);
      if (inner.name() != "Ftrl") CHECK(gathered.value("table")[5].equal(at::ones({2}, at::kDouble)));
      CHECK_FALSE(gathered.value("table")[1].equal(at::ones({2}, at::kDouble)));
    }
  }
}

TEST_CASE("accumulate_steps: a variable without gradients in the window is left alone",
          "[towers][optimizer][accumulate]") {
  const Optimizer momentum = Momentum({.learning_rate = 0.1, .momentum = 0.9});
  TowerRunner runner(towers(embedding_model(TowerOptimizer(momentum, {.accumulate_steps = 2}), false), 2));
  runner.train(ids({0, 1}, true), column_of(2, 1));
  runner.train(ids({2, 3}), column_of(2, 1));
  const at::Tensor moved = runner.value("late").clone();
  CHECK(moved.item<double>() != 1);
  for (int step = 0; step < 2; ++step) runner.train(ids({2, 3}), column_of(2, 1));
  CHECK(runner.value("late").equal(moved));  // momentum alone would have moved it
  CHECK_FALSE(runner.value("training/Momentum/late/momentum").equal(at::zeros({1}, at::kDouble)));
}

TEST_CASE("accumulate_steps: a step that fails leaves the window as it was", "[towers][optimizer][accumulate]") {
  bool armed = false;
  const ModelFn inner = line_model(TowerOptimizer(Adam({.learning_rate = 0.1}), {.accumulate_steps = 2}));
  const auto model = [&](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    if (armed && ctx.tower_index() == 1) throw std::runtime_error("no");
    return inner(features, labels, mode, ctx);
  };
  TowerRunner failing(towers(model, 2));
  TowerRunner smooth(towers(inner, 2));
  for (int round = 0; round < 2; ++round) {
    failing.train(inputs().narrow(0, 0, 4), answers().narrow(0, 0, 4));
    armed = true;
    CHECK_THROWS(failing.train(inputs(), answers()));
    armed = false;
    failing.train(inputs().narrow(0, 4, 8), answers().narrow(0, 4, 8));
    train_rows(smooth, {4, 8});
  }
  check_same_variables(failing, smooth, 0);
}

TEST_CASE("accumulate_steps: wrong numbers and shared names are refused", "[towers][optimizer][accumulate]") {
  CHECK_FAILS(TowerOptimizer(Adam(AdamOptions{}), {.accumulate_steps = 0}), ErrorKind::kInvalidArgument,
              "accumulate_steps is 0");
  const auto model = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    const at::Tensor loss = testing::abs_loss(features, labels, testing::scalar_variable(ctx, "c", 10));
    const TowerOptimizer optimizer(GradientDescent({.learning_rate = 1}), {.accumulate_steps = 2});
    const TrainOp first = optimizer.minimize(loss, ctx);
    return EstimatorSpec::train(loss, group({first, optimizer.minimize(loss * 2, ctx)}));
  };
  TowerRunner runner(towers(model, 2));
  CHECK_FAILS(runner.train(testing::column({1, 2}), testing::column({1, 2})), ErrorKind::kAlreadyExists, ".name");
}

TEST_CASE("accumulate_steps: towers that gather for different numbers of steps are told of both",
          "[towers][optimizer][accumulate]") {
  const auto model = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    const at::Tensor loss = testing::abs_loss(features, labels, testing::scalar_variable(ctx, "c", 10));
    const TowerOptimizer optimizer(GradientDescent({.learning_rate = 1}), {.accumulate_steps = ctx.tower_index() + 2});
    return EstimatorSpec::train(loss, optimizer.minimize(loss, ctx));
  };
  TowerRunner runner(towers(model, 2));
  CHECK_FAILS(runner.train(testing::column({1, 2}), testing::column({1, 2})), ErrorKind::kFailedPrecondition,
              "of tower 0 is minimize of SGD over 2 steps");
}

// --- As users see it ---

// Five batches of 4, 4, 4, 4 and 2 rows, for so many passes.
InputFn batches_of_four(int64_t passes = 1) {
  return [=] {
    return Dataset::from_tensors({{"id", at::arange(18, at::kLong) % 6}, {"late", at::arange(18).eq(13)}},
                                 column_of(18, 0.5))
        .batch(4)
        .repeat(passes);
  };
}

RunConfig quiet(const TemporaryDirectory& dir, int64_t save_steps) {
  return {.model_dir = dir.path(),
          .save_checkpoints_steps = save_steps,
          .save_summary_steps = 0,
          .log_step_count_steps = 0};
}

ModelFn adam_every_two(int count) {
  return towers(embedding_model(TowerOptimizer(Adam({.learning_rate = 0.1}), {.accumulate_steps = 2}), true), count);
}

TEST_CASE("accumulate_steps: the rest at the end of the input is applied with its weight",
          "[towers][optimizer][accumulate]") {
  const TemporaryDirectory dir;
  Estimator estimator(adam_every_two(2), quiet(dir, 100));
  CHECK(estimator.train(batches_of_four()).global_step == 5);
  CHECK(estimator.get_variable_value("belfry/training/Adam/iterations").item<int64_t>() == 3);
  CHECK(estimator.get_variable_value("belfry/training/Adam/accumulated_steps").item<int64_t>() == 0);
  TowerRunner whole(towers(embedding_model(TowerOptimizer(Adam({.learning_rate = 0.1})), true), 2));
  const at::Tensor id = at::arange(18, at::kLong) % 6;
  int64_t start = 0;
  for (const int64_t rows : {8, 8, 2}) {
    whole.train({{"id", id.narrow(0, start, rows)}, {"late", at::arange(start, start + rows).eq(13)}},
                column_of(rows, 0.5));
    start += rows;
  }
  // Not equal to more than this: batch 4, with "late", is a mean over 4 rows by itself and over 8 in the whole.
  CHECK(at::allclose(estimator.get_variable_value("table")[0], whole.value("table")[0], 0.2));
}

TEST_CASE("accumulate_steps: a call that ends at its last step leaves the rest to the next",
          "[towers][optimizer][accumulate]") {
  const TemporaryDirectory dir;
  Estimator estimator(adam_every_two(1), quiet(dir, 100));
  estimator.train(batches_of_four(), {.steps = 3});
  CHECK(estimator.get_variable_value("belfry/training/Adam/accumulated_steps").item<int64_t>() == 1);
  CHECK(estimator.get_variable_value("belfry/training/Adam/iterations").item<int64_t>() == 1);
  estimator.train(batches_of_four(), {.steps = 1});
  CHECK(estimator.get_variable_value("belfry/training/Adam/accumulated_steps").item<int64_t>() == 0);
  CHECK(estimator.get_variable_value("belfry/training/Adam/iterations").item<int64_t>() == 2);
}

TEST_CASE("accumulate_steps: a resume in the middle of a window ends with the same bits",
          "[towers][optimizer][accumulate][E3]") {
  for (const int count : {1, 2}) {
    const TemporaryDirectory whole;
    Estimator(adam_every_two(count), quiet(whole, 100)).train(batches_of_four(3), {.max_steps = 13});
    const TemporaryDirectory parts;
    const TemporaryDirectory copy;
    Estimator(adam_every_two(count), quiet(parts, 1)).train(batches_of_four(3), {.max_steps = 13});
    // From every checkpoint in the middle: a new process would see it just so.
    for (int64_t step = 1; step < 13; ++step) {
      CAPTURE(count, step);
      const TemporaryDirectory dir;
      {
        Estimator first(adam_every_two(count), quiet(dir, 1));
        const auto stop = [&] {
          struct Stop : SessionRunHook {
            explicit Stop(int64_t at) : at_(at) {}
            void before_run(RunContext& context) override {
              if (context.global_step() == at_) throw std::runtime_error("killed");
            }
            int64_t at_;
          };
          return std::make_shared<Stop>(step);
        };
        CHECK_THROWS(first.train(batches_of_four(3), {.max_steps = 13, .hooks = {stop()}}));
      }
      Estimator second(adam_every_two(count), quiet(dir, 100));
      CHECK(second.train(batches_of_four(3), {.max_steps = 13}).global_step == 13);
      for (const std::string& name : second.get_variable_names()) {
        if (name.starts_with("belfry/input")) continue;
        INFO(name);
        CHECK(at::equal(second.get_variable_value(name),
                        Estimator(adam_every_two(count), quiet(whole, 100)).get_variable_value(name)));
      }
    }
  }
}

TEST_CASE("accumulate_steps: what was gathered is applied by the next step when accumulation is switched off",
          "[towers][optimizer][accumulate]") {
  const auto optimizer = [](int64_t steps) {
    return TowerOptimizer(Adam({.learning_rate = 0.1}), {.accumulate_steps = steps});
  };
  for (const int count : {1, 2}) {
    CAPTURE(count);
    const TemporaryDirectory dir;
    const auto train = [&](int64_t steps, int64_t end) {
      Estimator(towers(line_model(optimizer(steps)), count), {.model_dir = dir.path(), .save_summary_steps = 0})
          .train(
              [] {
                return Dataset::from_tensors({{"x", inputs()}}, answers()).batch(4);
              },
              {.max_steps = end, .continue_input = true});
    };
    train(3, 2);
    train(1, 3);
    TowerRunner whole(towers(line_model(optimizer(1)), count));
    whole.train(inputs(), answers());
    const Estimator after(towers(line_model(optimizer(1)), count), {.model_dir = dir.path()});
    CHECK(at::allclose(after.get_variable_value("w"), whole.value("w"), 1e-12, 1e-12));
    CHECK(after.get_variable_value("belfry/training/Adam/iterations").item<int64_t>() == 1);
    CHECK(after.get_variable_value("belfry/training/Adam/accumulated_steps").item<int64_t>() == 0);
  }
}

TEST_CASE("accumulate_steps: a step weighs by its rows, not by those of a shared entry, on one device too",
          "[towers][optimizer][accumulate]") {
  const auto model = [](const Features& features, const Labels&, ModeKeys, ModelContext& ctx) {
    const at::Tensor w = ctx.variable("w", [] { return at::full({3, 1}, 0.5, at::kDouble); });
    const at::Tensor loss = losses::mean_squared_error(features["y"], features["x"].mm(w), ctx);
    const TowerOptimizer optimizer(GradientDescent({.learning_rate = 0.1}), {.accumulate_steps = 2});
    return EstimatorSpec::train(loss, optimizer.minimize(loss, ctx));
  };
  std::vector<at::Tensor> values;
  for (const int count : {1, 2}) {
    TowerRunner runner(replicate_model_fn(model, {.devices = cpus(count), .shared_entries = {"table"}}));
    for (const auto& [start, rows] : {std::pair<int64_t, int64_t>{0, 2}, {2, 10}}) {
      runner.train({{"table", at::ones({50, 2})},
                    {"x", inputs().narrow(0, start, rows)},
                    {"y", answers().narrow(0, start, rows)}},
                   {});
    }
    CHECK(runner.number("belfry/training/SGD/accumulated_steps") == 0);
    values.push_back(runner.value("w").clone());
  }
  CHECK(at::allclose(values[0], values[1], 1e-12, 1e-12));
}

}  // namespace
}  // namespace belfry
