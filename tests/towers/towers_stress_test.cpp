// Thousands of steps in which towers fail at random: nothing hangs, and what succeeds counts as if nothing had failed.
#include "tests/testing.h"
// testing.h has to come first

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <torch/csrc/autograd/custom_function.h>

#include <random>

#include "core/log.h"
#include "estimator/losses/losses.h"
#include "optimizers/clip_gradients.h"
#include "optimizers/momentum.h"
#include "tests/support/sanitized.h"
#include "tests/towers/tower_runner.h"

namespace belfry {
namespace {

// Where in a step a tower fails.
enum class Place {
  kNowhere,
  kAtOnce,
  kBetweenLosses,    // the others wait for the second denominator
  kBeforeGlobalSum,  // the others wait in it
  kBackward,
  kAfterMinimize,
  kReturnsNothing,  // a spec that does not validate
  kSkipsOptimizer,  // towers that differ in their calls: found by the caller
  kCount,
};

struct Plan {
  Place place = Place::kNowhere;
  unsigned towers = 0;  // bit by bit
};

struct Boom : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct FailingBackward : torch::autograd::Function<FailingBackward> {
  static at::Tensor forward(torch::autograd::AutogradContext*, const at::Tensor& x) { return x.clone(); }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*, torch::autograd::variable_list) {
    throw Boom("in backward");
  }
};

EstimatorSpec failing_model(const Plan& plan, const Features& features, const Labels& labels, ModelContext& ctx) {
  const bool mine = (plan.towers >> ctx.tower_index() & 1U) != 0;
  const auto at = [&](Place place) { return mine && plan.place == place; };
  if (at(Place::kAtOnce)) throw Boom("at once");
  const at::Tensor w = ctx.variable("w", [] { return at::ones({4, 1}, at::kDouble).mul_(0.3); });
  const at::Tensor b = ctx.variable("b", [] { return at::zeros({1}, at::kDouble); });
  at::Tensor value = features["x"].matmul(w) + b;
  if (at(Place::kBackward)) value = FailingBackward::apply(value);
  at::Tensor loss = losses::mean_squared_error(labels.tensor(), value, ctx, {.weights = features["weight"]});
  if (at(Place::kBetweenLosses)) throw Boom("between losses");
  loss = loss + losses::mean((value - 1).abs(), ctx);
  if (at(Place::kBeforeGlobalSum)) throw Boom("before global_sum");
  loss = loss + losses::penalty((1 + ctx.global_sum(value.square().sum())).log(), ctx);
  if (at(Place::kReturnsNothing)) return EstimatorSpec::train(at::Tensor(), TrainOp());
  if (at(Place::kSkipsOptimizer)) return EstimatorSpec::train(loss, TrainOp());
  TowerOptimizer optimizer(Momentum({.learning_rate = 0.01}));
  const TrainOp train_op = optimizer.minimize(loss, ctx);
  if (at(Place::kAfterMinimize)) throw Boom("after minimize");
  return EstimatorSpec::train(loss, train_op);
}

Batch random_batch(std::mt19937_64& random, at::Generator& generator) {
  const auto rows = static_cast<int64_t>(1 + random() % 9);
  at::Tensor weight = at::rand({rows, 1}, generator, at::kDouble);
  weight.narrow(0, 0, rows / 3).zero_();
  return {{{"x", at::randn({rows, 4}, generator, at::kDouble)}, {"weight", weight}},
          at::randn({rows, 1}, generator, at::kDouble)};
}

// Whether a step over so many rows fails: a tower that gets no rows cannot.
bool will_fail(const Plan& plan, int64_t rows, int towers) {
  const auto active = static_cast<unsigned>(std::min<int64_t>(rows, towers));
  const unsigned hit = plan.towers & ((1U << active) - 1);
  if (plan.place == Place::kNowhere || hit == 0) return false;
  // All towers that skip the optimizer agree with one another.
  return !(plan.place == Place::kSkipsOptimizer && hit == (1U << active) - 1);
}

void check_failures(int towers, int steps, uint64_t seed) {
  INFO(towers << " towers, seed " << seed);
  const LogLevel level = set_log_level(LogLevel::kOff);
  Plan plan;  // written only between steps
  const auto model_fn = [&plan](const Features& f, const Labels& l, ModeKeys, ModelContext& ctx) {
    return failing_model(plan, f, l, ctx);
  };
  testing::TowerRunner replicated(replicate_model_fn(ModelFn(model_fn), {.devices = testing::cpus(towers)}));
  testing::TowerRunner one{ModelFn(model_fn)};
  std::mt19937_64 random(seed);
  at::Generator generator = at::detail::createCPUGenerator(seed);
  int failed = 0;
  int committed = 0;
  for (int i = 0; i < steps; ++i) {
    const Batch batch = random_batch(random, generator);
    plan = {static_cast<Place>(random() % 2 == 0 ? 0 : random() % static_cast<uint64_t>(Place::kCount)),
            static_cast<unsigned>(1 + random() % ((1U << towers) - 1))};
    if (!will_fail(plan, batch.features.rows(), towers)) plan.place = Place::kNowhere;
    try {
      replicated.train(batch.features, batch.labels);
      REQUIRE(plan.place == Place::kNowhere);
    } catch (const Boom&) {
      REQUIRE(plan.place != Place::kNowhere);
      ++failed;
      continue;
    } catch (const Error& error) {
      INFO(error.what());
      REQUIRE((plan.place == Place::kReturnsNothing || plan.place == Place::kSkipsOptimizer));
      ++failed;
      continue;
    }
    one.train(batch.features, batch.labels);
    ++committed;
  }
  set_log_level(level);
  CHECK(failed > steps / 10);
  CHECK(replicated.store().global_step() == committed);
  for (const char* name : {"w", "b", "training/Momentum/w/momentum"}) {
    INFO(name);
    CHECK((replicated.value(name) - one.value(name)).abs().max().item<double>() < 1e-9);
  }
}

// 11,000 steps in all; a tenth where a sanitizer slows them down.
TEST_CASE("Two towers that fail at random neither hang nor drift over 4,000 steps", "[towers][stress][R10][R11]") {
  check_failures(2, testing::repetitions(4000), 4);
}

TEST_CASE("Three towers that fail at random neither hang nor drift over 600 steps", "[towers][stress][R10][R11]") {
  check_failures(3, testing::repetitions(600), 2);
}

TEST_CASE("Four towers that fail at random neither hang nor drift over 6,000 steps", "[towers][stress][R10][R11]") {
  check_failures(4, testing::repetitions(6000), 5);
}

TEST_CASE("Five towers that fail at random neither hang nor drift over 400 steps", "[towers][stress][R10][R11]") {
  check_failures(5, testing::repetitions(400), 3);
}

}  // namespace
}  // namespace belfry
