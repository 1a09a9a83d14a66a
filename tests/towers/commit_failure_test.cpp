// A train op over towers that throws while the towers write their shares of the variables.
#include <ATen/ATen.h>

#include <memory>

#include "core/log.h"
#include "estimator/estimator.h"
#include "tests/support/failing_descent.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"
#include "tests/towers/tower_runner.h"

namespace belfry {
namespace {

using testing::FailingDescent;

constexpr int64_t kWidth = 1000;  // more elements than towers: all of them have a share

ModelFn model_over(int towers, const FailingDescent::Armed& armed) {
  const auto model_fn = [armed](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    const at::Tensor w = ctx.variable("w", [] { return at::zeros({kWidth}); });
    const at::Tensor y = features["x"].unsqueeze(1).mul(w).sum(1);
    if (mode == ModeKeys::kPredict) return EstimatorSpec::predict({{"y", y}});
    const at::Tensor loss = (labels.tensor() - y).square().sum() / kWidth;
    return EstimatorSpec::train(loss, TowerOptimizer(testing::failing_descent(armed)).minimize(loss, ctx));
  };
  return replicate_model_fn(model_fn, {.loss_reduction = LossReduction::kSum, .devices = testing::cpus(towers)});
}

Dataset input() {
  return Dataset::from_tensors({{"x", at::arange(4, at::kFloat) / 4}}, at::ones({4})).batch(4).repeat();
}

RunConfig saving_every_second(const std::string& directory) {
  return {.model_dir = directory, .save_checkpoints_steps = 2, .save_summary_steps = 0, .log_step_count_steps = 0};
}

}  // namespace

TEST_CASE("a train op that throws in the towers' shares ends the call, and the next one goes on from the checkpoint",
          "[towers][replicate][failure][E3]") {
  const int towers = GENERATE(1, 2, 4);
  CAPTURE(towers);
  const auto armed = std::make_shared<std::atomic<bool>>(false);
  const testing::TemporaryDirectory whole_dir;
  Estimator whole(model_over(towers, armed), saving_every_second(whole_dir.path()));
  whole.train(input, {.max_steps = 6});

  struct Arm : SessionRunHook {
    explicit Arm(FailingDescent::Armed flag) : armed(std::move(flag)) {}
    void before_apply(RunContext& context) override { *armed = context.global_step() == 3; }
    FailingDescent::Armed armed;
  };
  const testing::TemporaryDirectory dir;
  Estimator estimator(model_over(towers, armed), saving_every_second(dir.path()));
  CHECK_THROWS_WITH(estimator.train(input, {.max_steps = 6, .hooks = {std::make_shared<Arm>(armed)}}),
                    Catch::Contains("the update failed"));
  *armed = false;
  CHECK(estimator.latest_checkpoint().value_or("none") == dir.file("model.ckpt-2"));
  CHECK(estimator.predict({{"x", at::ones({4})}})["y"][0].item<float>() ==
        Approx(estimator.get_variable_value("w").sum().item<float>()));

  std::string log;
  const LogSink before = set_log_sink([&](LogLevel, std::string_view message) { log += std::string(message) + "\n"; });
  CHECK(estimator.train(input, {.max_steps = 6}).steps == 4);
  set_log_sink(before);
  CHECK_THAT(log, Catch::Contains("training goes on from " + dir.file("model.ckpt-2")));
  CHECK(at::equal(estimator.get_variable_value("w"), whole.get_variable_value("w")));
}

}  // namespace belfry
