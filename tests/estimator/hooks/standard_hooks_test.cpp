#include "tests/testing.h"

#include <limits>

#include "checkpoint/checkpoint_manager.h"
#include "core/error.h"
#include "estimator/hooks/checkpoint_saver_hook.h"
#include "estimator/hooks/nan_tensor_hook.h"
#include "estimator/hooks/second_or_step_timer.h"
#include "estimator/hooks/step_counter_hook.h"
#include "estimator/hooks/stop_at_step_hook.h"
#include "estimator/hooks/summary_saver_hook.h"
#include "estimator/losses/losses.h"
#include "estimator/summaries/event_reader.h"
#include "tests/estimator/linear_model.h"
#include "tests/support/check_fails.h"
#include "tests/support/temporary_directory.h"

using namespace belfry;
using namespace belfry::testing;
using Catch::Contains;

namespace {

// The loss is not a number from the second batch of four rows on.
EstimatorSpec breaking_model_fn(const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
  at::Tensor y = linear_output(features, ctx);
  if (features["x"][0].item<double>() > 0) y = y / torch::zeros({1}) * 0;
  const at::Tensor loss = losses::mean_squared_error(labels.tensor(), y, ctx);
  return EstimatorSpec::train(loss, descend(loss, ctx));
}

std::vector<int64_t> steps_with(const std::string& directory, const std::string& tag) {
  std::vector<int64_t> steps;
  for (const auto& [step, scalars] : read_scalars(posix_file_system(), directory)) {
    if (scalars.count(tag)) steps.push_back(step);
  }
  return steps;
}

}  // namespace

TEST_CASE("StopAtStepHook counts from the start of the session, or to a step", "[estimator][hooks][E42]") {
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  const auto train_with = [&](StopAtStepOptions options) {
    return estimator.train(line(), {.hooks = {std::make_shared<StopAtStepHook>(options)}});
  };
  CHECK(train_with({.num_steps = 3}).global_step == 3);
  CHECK(train_with({.num_steps = 3}).global_step == 6);
  const TrainResult result = train_with({.last_step = 8});
  CHECK(result.global_step == 8);
  CHECK(result.reason == StopReason::kHook);
  CHECK_THROWS_WITH(StopAtStepHook({}), Contains("exactly one"));
  CHECK_THROWS_WITH(StopAtStepHook({.num_steps = 1, .last_step = 1}), Contains("exactly one"));
  CHECK_THROWS_WITH(StopAtStepHook({.num_steps = 0}), Contains("is 0"));
}

TEST_CASE("a loss that is not a number ends training before it reaches a variable", "[estimator][hooks][E7][E46]") {
  const TemporaryDirectory dir;
  Estimator estimator(breaking_model_fn, quiet(dir.path()));
  const Failure found = failure([&] { estimator.train(line(), {.steps = 3}); });
  CHECK(found.kind == ErrorKind::kNanLoss);
  CHECK_THAT(found.message, Contains("loss of step 2 is not a number") && Contains("those of step 1"));
  CHECK(saved(estimator, "global_step") == 1);
  CHECK(std::isfinite(saved(estimator, "linear/w")));
  CHECK(estimator.train(line(), {.steps = 1}).global_step == 2);  // its first batch is a good one
}

TEST_CASE("NanTensorHook may stop training instead", "[estimator][hooks][E46]") {
  const TemporaryDirectory dir;
  RunConfig config = quiet(dir.path());
  config.check_numerics = false;
  Estimator estimator(breaking_model_fn, config);
  const CapturedLog log;
  const TrainResult result =
      estimator.train(line(), {.steps = 3, .hooks = {std::make_shared<NanTensorHook>(/*fail_on_nan_loss=*/false)}});
  CHECK(result.reason == StopReason::kHook);
  CHECK(result.global_step == 1);
  CHECK(log.count(LogLevel::kWarning, "loss of step 2 is not a number") == 1);
  CHECK(std::isfinite(saved(estimator, "linear/w")));
}

TEST_CASE("an infinite loss passes", "[estimator][hooks][E7]") {
  const TemporaryDirectory dir;
  const auto infinite = [](const Features& features, const Labels&, ModeKeys, ModelContext& ctx) {
    const at::Tensor loss = linear_output(features, ctx).mean() + std::numeric_limits<double>::infinity();
    return EstimatorSpec::train(loss, descend(loss, ctx));
  };
  Estimator estimator(infinite, quiet(dir.path()));
  CHECK(std::isinf(estimator.train(line(), {.steps = 2}).loss));
}

TEST_CASE("summaries are written at the first step and every so many after it", "[estimator][hooks][E7][E47]") {
  const TemporaryDirectory dir;
  const auto model = [](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    ctx.summary("mean_x", features["x"].mean());
    return linear_model_fn(features, labels, mode, ctx);
  };
  Estimator estimator(model, {.model_dir = dir.path(), .save_summary_steps = 4, .log_step_count_steps = 0});
  const double loss = estimator.train(line(4, 4), {.steps = 1}).loss;
  auto scalars = read_scalars(posix_file_system(), dir.path());
  CHECK(scalars[1]["loss"] == Approx(loss));
  CHECK(scalars[1]["mean_x"] == Approx(0.375));
  estimator.train(line(4, 4), {.steps = 9});  // steps 2 to 10
  CHECK(steps_with(dir.path(), "loss") == std::vector<int64_t>{1, 2, 6, 10});
}

TEST_CASE("SummarySaverHook goes by seconds too, from the first step on", "[estimator][hooks][E47]") {
  const Summaries summaries{{"seven", torch::tensor(7.0)}};
  for (const auto& [secs, steps] : {std::pair{1e-9, std::vector<int64_t>{1, 2, 3}}, {1e9, {1}}}) {
    const TemporaryDirectory dir;
    RunConfig config = quiet(dir.path());
    config.log_step_count_steps = 1000;  // for the writer of events
    const auto saver = std::make_shared<SummarySaverHook>(
        std::nullopt, secs, [&]() -> auto& { return summaries; });
    Estimator(linear_model_fn, config).train(line(), {.steps = 3, .hooks = {saver}});
    CHECK(steps_with(dir.path(), "loss") == steps);
    CHECK(steps_with(dir.path(), "seven") == steps);
  }
  const auto none = [&]() -> auto& { return summaries; };
  CHECK_THROWS_WITH(SummarySaverHook(std::nullopt, std::nullopt, none), Contains("neither"));
  CHECK_THROWS_WITH(SummarySaverHook(1, 1.0, none), Contains("both"));
}

TEST_CASE("a model's histograms and shares of zeros are written with its scalars", "[estimator][hooks][E47][E123]") {
  const TemporaryDirectory dir;
  const auto model = [](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    ctx.summary_histogram("numbers", torch::tensor({-1.0, 0.0, 0.0, 4.0}));
    ctx.summary_zero_fraction("zeros", torch::tensor({{0, 1, 0, 0}}));
    CHECK_FAILS(ctx.summary_histogram("none", at::Tensor()), ErrorKind::kInvalidArgument, "'none'");
    CHECK_FAILS(ctx.summary_zero_fraction("none", at::Tensor()), ErrorKind::kInvalidArgument, "'none'");
    return linear_model_fn(features, labels, mode, ctx);
  };
  Estimator(model, {.model_dir = dir.path(), .save_summary_steps = 2, .log_step_count_steps = 0})
      .train(line(4, 4), {.steps = 4});
  CHECK(steps_with(dir.path(), "zeros") == std::vector<int64_t>{1, 3});
  CHECK(read_scalars(posix_file_system(), dir.path())[3]["zeros"] == 0.75);
  std::vector<int64_t> steps;
  EventFileReader events(posix_file_system(), list_event_files(posix_file_system(), dir.path()).at(0));
  for (SummaryEvent event; events.next(event);) {
    for (const SummaryValue& value : event.values) {
      if (value.tag != "numbers") continue;
      steps.push_back(event.step);
      const auto& histogram = std::get<SummaryHistogram>(value.value);
      CHECK(histogram.min == -1);
      CHECK(histogram.max == 4);
      CHECK(histogram.num == 4);
      CHECK(histogram.sum == 3);
    }
  }
  CHECK(steps == std::vector<int64_t>{1, 3});
}

TEST_CASE("a model's own summary of the loss stays alone", "[estimator][hooks][E7]") {
  const TemporaryDirectory dir;
  const auto model = [](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    ctx.summary("loss", torch::tensor(42.0));
    return linear_model_fn(features, labels, mode, ctx);
  };
  Estimator estimator(model, {.model_dir = dir.path(), .save_summary_steps = 1, .log_step_count_steps = 0});
  estimator.train(line(), {.steps = 1});
  CHECK(read_scalars(posix_file_system(), dir.path())[1]["loss"] == 42);
}

TEST_CASE("a summary that is not one number is refused", "[estimator][hooks][E47]") {
  const TemporaryDirectory dir;
  const auto model = [](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    ctx.summary("xs", features["x"]);
    return linear_model_fn(features, labels, mode, ctx);
  };
  Estimator estimator(model, quiet(dir.path()));
  CHECK_THROWS_WITH(estimator.train(line(), {.steps = 1}), Contains("'xs'") && Contains("[4]"));
}

TEST_CASE("steps per second are written every so many steps", "[estimator][hooks][E44]") {
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, {.model_dir = dir.path(), .save_summary_steps = 0, .log_step_count_steps = 3});
  const CapturedLog log;
  estimator.train(line(), {.steps = 8});
  CHECK(steps_with(dir.path(), "global_step/sec") == std::vector<int64_t>{3, 6});
  CHECK(read_scalars(posix_file_system(), dir.path())[3]["global_step/sec"] > 0);
  CHECK_THROWS_WITH(StepCounterHook(1, 1.0), Contains("exactly one"));
}

TEST_CASE("steps per second are written every so many seconds too", "[estimator][hooks][E44]") {
  for (const auto& [secs, steps] : {std::pair{1e-9, std::vector<int64_t>{1, 2, 3}}, {1e9, {}}}) {
    const TemporaryDirectory dir;
    // A summary, for the writer of events; the framework's own counter stays silent.
    Estimator estimator(linear_model_fn,
                        {.model_dir = dir.path(), .save_summary_steps = 100, .log_step_count_steps = 0});
    estimator.train(line(), {.steps = 3, .hooks = {std::make_shared<StepCounterHook>(std::nullopt, secs)}});
    CHECK(steps_with(dir.path(), "global_step/sec") == steps);
  }
  CHECK_THROWS_WITH(StepCounterHook(std::nullopt, std::nullopt), Contains("neither"));
}

TEST_CASE("a timer triggers first, then when steps or seconds have passed, never twice a step",
          "[estimator][hooks][E52]") {
  SecondOrStepTimer steps(3, std::nullopt);
  CHECK(steps.should_trigger(5));
  steps.update_last_triggered(5);
  CHECK_FALSE(steps.elapsed_steps());
  CHECK_FALSE(steps.should_trigger(5));
  CHECK_FALSE(steps.should_trigger(7));
  CHECK(steps.should_trigger(8));
  steps.update_last_triggered(9);
  CHECK(steps.elapsed_steps() == 4);

  double now = 100;
  SecondOrStepTimer seconds(std::nullopt, 2.5, [&now] { return now; });
  CHECK(seconds.should_trigger(0));
  seconds.update_last_triggered(0);
  now = 102;
  CHECK_FALSE(seconds.should_trigger(1));
  now = 103;
  CHECK_FALSE(seconds.should_trigger(0));
  CHECK(seconds.should_trigger(1));
  seconds.update_last_triggered(1);
  CHECK(seconds.elapsed_secs() == 3.0);
}

TEST_CASE("a timer wants one setting, above 0", "[estimator][hooks][E43][E52]") {
  CHECK_THROWS_WITH(SecondOrStepTimer(std::nullopt, std::nullopt), Contains("neither"));
  CHECK_THROWS_WITH(SecondOrStepTimer(1, 1.0), Contains("both"));
  CHECK_THROWS_WITH(SecondOrStepTimer(0, std::nullopt), Contains("0 steps"));
  CHECK_THROWS_WITH(SecondOrStepTimer(std::nullopt, -1.0), Contains("-1 seconds"));
  CHECK_THROWS_WITH(CheckpointSaverHook({}), Contains("neither"));
  CHECK_THROWS_WITH(CheckpointSaverHook({.save_steps = 1, .save_secs = 1.0}), Contains("both"));
}

TEST_CASE("a number of steps may be so high that it means never, and always", "[estimator][hooks][E43][E52]") {
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  SecondOrStepTimer timer(kNever, std::nullopt);
  timer.update_last_triggered(3);
  CHECK_FALSE(timer.should_trigger(4));

  const TemporaryDirectory dir;
  RunConfig config = quiet(dir.path());
  config.save_checkpoints_steps = kNever;
  Estimator estimator(linear_model_fn, config);
  estimator.train(line(), {.steps = 3});
  CHECK(estimator.train(line(16, 4, 1), {.steps = kNever}).reason == StopReason::kInputEnded);
  CHECK(
      estimator
          .train(line(16, 4, 1), {.hooks = {std::make_shared<StopAtStepHook>(StopAtStepOptions{.num_steps = kNever})}})
          .global_step == 11);
  CHECK(CheckpointManager(dir.path()).all() ==
        std::vector<std::string>{dir.file("model.ckpt-0"), dir.file("model.ckpt-3"), dir.file("model.ckpt-7"),
                                 dir.file("model.ckpt-11")});
}
