#include <atomic>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <string>
#include <thread>

#include "estimator/estimator.h"
#include "estimator/losses/losses.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"
#include "tests/towers/abs_model.h"
#include "tests/towers/log_catcher.h"
#include "towers/replicate_model_fn.h"

namespace belfry {
namespace {

using testing::abs_model;
using testing::column;
using testing::LogCatcher;
using testing::TowerRunner;
using testing::towers;

struct Boom : std::runtime_error {
  using std::runtime_error::runtime_error;
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

}  // namespace
}  // namespace belfry
