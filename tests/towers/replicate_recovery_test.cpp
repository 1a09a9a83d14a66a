// Failures that need more than an undone step: in the train op, in memory, and in model_fns that hide what happened.
#include "tests/testing.h"
// testing.h has to come first

#include <atomic>
#include <stdexcept>

#include "estimator/estimator.h"
#include "estimator/losses/losses.h"
#include "tests/support/temporary_directory.h"
#include "tests/towers/abs_model.h"
#include "tests/towers/log_catcher.h"

namespace belfry {
namespace {

using testing::abs_model;
using testing::column;
using testing::LogCatcher;
using testing::scalar_variable;
using testing::TemporaryDirectory;
using testing::TowerRunner;
using testing::towers;

struct Boom : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// --- An exception in the train op ---

// Gradient descent that throws while it is armed.
class FailingRule : public UpdateRule {
 public:
  explicit FailingRule(const std::atomic<bool>& armed) : armed_(armed) {}
  std::string name() const override { return "Failing"; }
  void apply(const UpdateArguments& arguments, UpdateLists& lists) const override {
    if (armed_) throw Boom("in the train op");
    for (size_t i = 0; i < lists.parameters.size(); ++i) {
      lists.parameters[i].sub_(lists.gradients[i], arguments.learning_rate);
    }
  }

 private:
  const std::atomic<bool>& armed_;
};

// The first update has been made when the second throws.
ModelFn model_with(const std::atomic<bool>& armed) {
  return [&armed](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    const at::Tensor c = scalar_variable(ctx, "c", 10);
    const at::Tensor d = scalar_variable(ctx, "d", 10);
    const at::Tensor loss = testing::abs_loss(features, labels, c) + testing::abs_loss(features, labels, d);
    if (mode == ModeKeys::kEval) return EstimatorSpec::eval(loss);
    const TowerOptimizer sound(GradientDescent({.learning_rate = 1.0}));
    const TowerOptimizer failing(Optimizer(std::make_shared<FailingRule>(armed), 1.0));
    return EstimatorSpec::train(loss, group({sound.minimize(loss, ctx, {.var_list = {"c"}}),
                                             failing.minimize(loss, ctx, {.var_list = {"d"}})}));
  };
}

Dataset endless() { return Dataset::from_tensors(column({1, 1, 1}), column({1, 1, 1})).batch(3).repeat(); }

TEST_CASE(
    "replicate_model_fn: an exception in the train op breaks the session; the next call goes on from the "
    "checkpoint and says so",
    "[towers][replicate][failure][R12]") {
  for (const int count : {1, 3}) {
    CAPTURE(count);
    std::atomic<bool> armed{false};
    const TemporaryDirectory directory;
    Estimator estimator(towers(model_with(armed), count, LossReduction::kSum), {.model_dir = directory.path(),
                                                                                .save_checkpoints_steps = 1,
                                                                                .save_summary_steps = 0,
                                                                                .log_step_count_steps = 0});
    estimator.train(endless, {.steps = 2});
    const std::string checkpoint = *estimator.latest_checkpoint();
    const LogCatcher log;
    armed = true;
    CHECK_THROWS_AS(estimator.train(endless, {.steps = 2}), Boom);
    armed = false;
    // Nothing of the half step was written; evaluation reads the checkpoint.
    CHECK(estimator.latest_checkpoint() == checkpoint);
    CHECK(estimator.evaluate([] { return endless().take(1); }).loss() == 2 * 3 * 3);
    CHECK(estimator.train(endless, {.steps = 1}).global_step == 3);
    CHECK_THAT(
        log.text(),
        Catch::Contains("a step failed and left variables that are of no use: training goes on from " + checkpoint));
    for (const char* name : {"c", "d"}) CHECK(estimator.get_variable_value(name).item<double>() == 10 - 3 * 3);
  }
}

TEST_CASE("replicate_model_fn: a session whose train op failed refuses steps until it is restored",
          "[towers][replicate][failure]") {
  for (const int count : {1, 3}) {
    std::atomic<bool> armed{true};
    TowerRunner runner(towers(model_with(armed), count, LossReduction::kSum));
    const at::Tensor x = column({1, 1, 1});
    const LogCatcher log;
    CHECK_THROWS_AS(runner.train(x, x), Boom);
    armed = false;
    CHECK_FAILS(runner.train(x, x), ErrorKind::kFailedPrecondition, "has to be restored");
  }
}

// --- Out of memory on one device ---

TEST_CASE(
    "replicate_model_fn: a tower that asks for more memory than there is ends the step for all, and training "
    "goes on",
    "[towers][replicate][failure]") {
  for (const int hungry : {0, 1, 2}) {
    std::atomic<bool> armed{true};
    const auto model = [&](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
      if (armed && ctx.tower_index() == hungry) at::empty({int64_t{1} << 50}, at::kDouble);
      losses::mean(features.tensor(), ctx);  // where the others wait
      return abs_model(features, labels, mode, ctx);
    };
    TowerRunner runner(towers(model, 3, LossReduction::kSum));
    const at::Tensor x = column({1, 1, 1});
    const LogCatcher log;
    CHECK_THROWS_AS(runner.train(x, x), c10::Error);
    CHECK_THAT(log.text(), Catch::Contains("tower " + std::to_string(hungry) + " failed") && Catch::Contains("memory"));
    armed = false;
    CHECK(runner.train(x, x) == 27);
    CHECK(runner.number("c") == 7);
    CHECK(runner.store().global_step() == 1);
  }
}

// --- A model_fn that catches what ends its wait ---

using Wait = std::function<void(const at::Tensor&, ModelContext&)>;

// Tower `failing` throws; the others wait for it, and `then` is what they do when the wait ends with an error.
ModelFn catching(const std::atomic<bool>& armed, int failing, const Wait& wait, const Wait& then) {
  return
      [&armed, failing, wait, then](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
        if (armed && ctx.tower_index() == failing) throw Boom("the cause");
        try {
          wait(features.tensor(), ctx);
        } catch (const std::exception&) {
          then(features.tensor(), ctx);
        }
        return abs_model(features, labels, mode, ctx);
      };
}

void check_cause_is_told(const Wait& then) {
  const Wait waits[] = {[](const at::Tensor& x, ModelContext& ctx) { losses::mean(x, ctx, x); },
                        [](const at::Tensor& x, ModelContext& ctx) { ctx.global_sum(x.sum()); },
                        [](const at::Tensor& x, ModelContext& ctx) { ctx.gather_towers("x", x); }};
  for (const Wait& wait : waits) {
    for (const int failing : {0, 1, 2}) {
      std::atomic<bool> armed{true};
      TowerRunner runner(towers(catching(armed, failing, wait, then), 3, LossReduction::kSum));
      const at::Tensor x = column({1, 1, 1});
      const LogCatcher log;
      CHECK_THROWS_WITH(runner.train(x, x), "the cause");
      CHECK_THAT(log.text(), Catch::Contains("tower " + std::to_string(failing) + " failed: the cause"));
      CHECK(runner.store().global_step() == 0);
      armed = false;
      CHECK(runner.train(x, x) == 27);
      CHECK(runner.number("c") == 7);
    }
  }
}

TEST_CASE("replicate_model_fn: towers that catch the end of their wait and return hide nothing",
          "[towers][replicate][failure]") {
  check_cause_is_told([](const at::Tensor&, ModelContext&) {});
}

TEST_CASE("replicate_model_fn: towers that catch the end of their wait and wait again are stopped again",
          "[towers][replicate][failure]") {
  check_cause_is_told([](const at::Tensor& x, ModelContext& ctx) {
    try {
      ctx.global_sum(x.sum());
    } catch (const Error&) {
      losses::mean(x, ctx);
    }
  });
}

TEST_CASE("replicate_model_fn: towers that throw an error of their own when their wait ends do not hide the cause",
          "[towers][replicate][failure]") {
  check_cause_is_told([](const at::Tensor&, ModelContext&) { throw std::logic_error("something went wrong"); });
}

}  // namespace
}  // namespace belfry
