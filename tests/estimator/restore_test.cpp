// What a checkpoint that does not quite fit the model is taken for.
#include "tests/testing.h"

#include <filesystem>

#include "core/error.h"
#include "estimator/estimator.h"
#include "estimator/hooks/checkpoint_saver_hook.h"
#include "estimator/losses/losses.h"
#include "linear_model.h"
#include "optimizers/adam.h"
#include "optimizers/gradient_descent.h"
#include "optimizers/momentum.h"
#include "tests/support/check_fails.h"
#include "tests/support/temporary_directory.h"

using namespace belfry;
using namespace belfry::testing;
using Catch::Contains;

namespace {

RunConfig saving(const TemporaryDirectory& dir, bool initialize_missing = false) {
  RunConfig config = quiet(dir.path());
  config.save_checkpoints_steps = 1;
  config.initialize_missing = initialize_missing;
  return config;
}

at::Tensor squares(const Features& features, const Labels& labels, ModelContext& ctx) {
  return (labels.tensor() - linear_output(features, ctx)).square().mean();
}

// By turns, a step each: the parts "even" and "odd".
EstimatorSpec alternating(const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
  const std::string part = ctx.global_step() % 2 == 0 ? "even" : "odd";
  const at::Tensor c = ctx.variable(part + "/c", [] { return at::ones({}); });
  const at::Tensor loss = (labels.tensor() - features["x"] * c).square().mean();
  return EstimatorSpec::train(loss, descend(loss, ctx));
}

// An optimizer of its own for the third step and after.
EstimatorSpec changing_optimizer(const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
  const at::Tensor loss = squares(features, labels, ctx);
  const Optimizer first = Momentum({.learning_rate = 0.1, .momentum = 0.9, .name = "gan/first"});
  const Optimizer second = Adam({.learning_rate = 0.1, .name = "gan/second"});
  return EstimatorSpec::train(loss, (ctx.global_step() < 2 ? first : second).minimize(loss, ctx));
}

// Evaluates with a part that only batches that begin above 0 use.
EstimatorSpec with_late_part(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  at::Tensor loss = squares(features, labels, ctx);
  if (mode == ModeKeys::kTrain) return EstimatorSpec::train(loss, descend(loss, ctx));
  if (features["x"][0].item<float>() > 0) loss = loss + ctx.variable("late/c", [] { return at::ones({}); });
  return EstimatorSpec::eval(loss);
}

}  // namespace

TEST_CASE("parts used by turns look like another model until both are in the checkpoint, and can be told",
          "[estimator][E3]") {
  const TemporaryDirectory dir;
  Estimator(make_model_fn(alternating), saving(dir)).train(line(), {.max_steps = 1});
  const Failure refused =
      failure([&] { Estimator(make_model_fn(alternating), saving(dir)).train(line(), {.max_steps = 2}); });
  CHECK(refused.kind == ErrorKind::kInvalidArgument);
  CHECK_THAT(refused.message, Contains("odd/c") && Contains("even/c") && Contains("initialize_missing"));
  {
    const CapturedLog log;
    Estimator told(make_model_fn(alternating), saving(dir, /*initialize_missing=*/true));
    CHECK(told.train(line(), {.max_steps = 2}).global_step == 2);
    CHECK(log.count(LogLevel::kWarning, "odd/c") == 1);
  }
  // With both in it there is nothing to tell.
  CHECK(Estimator(make_model_fn(alternating), saving(dir)).train(line(), {.max_steps = 4}).global_step == 4);
}

TEST_CASE("an optimizer with slashes in its name that takes over is noticed, and can be told", "[estimator][E3]") {
  const TemporaryDirectory whole;
  Estimator(make_model_fn(changing_optimizer), saving(whole)).train(line(16, 16), {.max_steps = 4});
  const TemporaryDirectory dir;
  Estimator(make_model_fn(changing_optimizer), saving(dir)).train(line(16, 16), {.max_steps = 2});
  CHECK_FAILS(Estimator(make_model_fn(changing_optimizer), saving(dir)).train(line(16, 16), {.max_steps = 4}),
              ErrorKind::kInvalidArgument, "training/gan/second/linear/w/m");
  Estimator told(make_model_fn(changing_optimizer), saving(dir, /*initialize_missing=*/true));
  told.train(line(16, 16), {.max_steps = 4});
  const Estimator expected(make_model_fn(changing_optimizer), saving(whole));
  CHECK(saved(told, "linear/w") == saved(expected, "linear/w"));
  CHECK(saved(told, "training/gan/second/linear/w/v") == saved(expected, "training/gan/second/linear/w/v"));
}

TEST_CASE("untrained parts that a later batch of an evaluation asks for are told of once", "[estimator][E8]") {
  const TemporaryDirectory dir;
  Estimator estimator(make_model_fn(with_late_part), saving(dir));
  estimator.train(line(), {.max_steps = 2});
  const CapturedLog log;
  estimator.evaluate(line(16, 4, 1));
  CHECK(log.count(LogLevel::kWarning, "late/c") == 1);
  estimator.evaluate(line(16, 4, 1));
  CHECK(log.count(LogLevel::kWarning, "late/c") == 1);
}

TEST_CASE("a checkpoint that was written anew under its old name is read anew", "[estimator][E8][E11]") {
  const TemporaryDirectory dir;
  const std::string prefix = dir.file("model.ckpt-2");
  Estimator first(linear_model_fn, saving(dir));
  first.train(line(), {.max_steps = 2});
  const double before = first.predict(line_features(4), {.checkpoint_path = prefix})["y"].sum().item<double>();
  {
    RunConfig other = saving(dir);
    std::filesystem::remove_all(dir.path());
    Estimator(linear_model_fn, other).train(line(64, 16), {.max_steps = 2});
  }
  Estimator fresh(linear_model_fn, saving(dir));
  const double expected = fresh.predict(line_features(4), {.checkpoint_path = prefix})["y"].sum().item<double>();
  CHECK(expected != before);
  CHECK(first.predict(line_features(4), {.checkpoint_path = prefix})["y"].sum().item<double>() == expected);
}

TEST_CASE("a hook that fails before the first batch does not move the place in the input", "[estimator][E3]") {
  struct Failing : SessionRunHook {
    void begin(HookSession&) override { throw std::runtime_error("not now"); }
  };
  struct Stopping : SessionRunHook {
    void after_run(RunContext& context) override {
      if (context.global_step() == 2) throw std::runtime_error("stopped");
    }
  };
  const TemporaryDirectory whole_dir;
  Estimator whole(linear_model_fn, saving(whole_dir));
  whole.train(line(16, 4, 2), {.max_steps = 8});
  const TemporaryDirectory dir;
  CHECK_THROWS(Estimator(linear_model_fn, saving(dir))
                   .train(line(16, 4, 2), {.max_steps = 8, .hooks = {std::make_shared<Stopping>()}}));
  Estimator next(linear_model_fn, saving(dir));
  CHECK_THROWS(next.train(line(16, 4, 2), {.max_steps = 8, .hooks = {std::make_shared<Failing>()}}));
  next.train(line(16, 4, 2), {.max_steps = 8});
  CHECK(saved(next, "linear/w") == saved(whole, "linear/w"));
  CHECK(saved(next, "global_step") == 8);
}

TEST_CASE("a saver among the spec's hooks tells the call's listeners once that training begins", "[estimator][E43]") {
  struct Listener : CheckpointSaverListener {
    void begin() override { ++begun; }
    int begun = 0;
  };
  const auto listener = std::make_shared<Listener>();
  const auto model_fn = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    const at::Tensor loss = squares(features, labels, ctx);
    EstimatorSpec spec = EstimatorSpec::train(loss, descend(loss, ctx));
    spec.training_hooks = {std::make_shared<CheckpointSaverHook>(CheckpointSaverOptions{.save_steps = 1})};
    return spec;
  };
  const TemporaryDirectory dir;
  Estimator(make_model_fn(model_fn), saving(dir)).train(line(), {.steps = 2, .saving_listeners = {listener}});
  CHECK(listener->begun == 1);
}
