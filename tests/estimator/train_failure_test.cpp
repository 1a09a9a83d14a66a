// What is left after a train call that failed, in this process and in the next.
#include "tests/testing.h"

#include <torch/nn/module.h>

#include <cmath>
#include <csignal>
#include <limits>

#include "checkpoint/checkpoint_manager.h"
#include "checkpoint/checkpoint_writer.h"
#include "core/error.h"
#include "estimator/hooks/checkpoint_saver_hook.h"
#include "hooks/recording_hook.h"
#include "linear_model.h"
#include "tests/support/check_fails.h"
#include "tests/support/temporary_directory.h"

using namespace belfry;
using namespace belfry::testing;
using Catch::Contains;

namespace {

// The linear model, which throws when it is about to make step `at` and `*armed`.
ModelFn failing_at(int64_t at, std::shared_ptr<bool> armed) {
  return [at, armed](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    if (*armed && mode == ModeKeys::kTrain && ctx.global_step() + 1 == at) throw std::runtime_error("out of paper");
    return linear_model_fn(features, labels, mode, ctx);
  };
}

RunConfig saving_every(const std::string& directory, int64_t steps) {
  RunConfig config = quiet(directory);
  config.save_checkpoints_steps = steps;
  return config;
}

struct CountingListener : CheckpointSaverListener {
  void before_save(int64_t) override { ++saves; }
  int saves = 0;
};

}  // namespace

TEST_CASE("a checkpoint that cannot be restored is refused by every call, and nothing is trained over it",
          "[estimator][E3]") {
  const TemporaryDirectory dir;
  CheckpointManager(dir.path()).save(7, {{"linear/w", at::ones({1, 1})}});  // no global_step
  Estimator estimator(linear_model_fn, saving_every(dir.path(), 2));
  for (int call = 0; call < 2; ++call) {
    CHECK_THAT(failure([&] { estimator.train(line(), {.steps = 2}); }).message, Contains("no global_step"));
  }
  CHECK(estimator.latest_checkpoint() == dir.file("model.ckpt-7"));
}

TEST_CASE("another process goes on with the batch whose step failed", "[estimator][E3]") {
  const auto failing_after_save = GENERATE(false, true);
  const TemporaryDirectory whole_dir;
  Estimator whole(linear_model_fn, saving_every(whole_dir.path(), 3));
  whole.train(line(), {.max_steps = 10});

  const TemporaryDirectory dir;
  const auto armed = std::make_shared<bool>(true);
  const ModelFn model_fn = failing_at(failing_after_save ? 7 : 6, armed);
  CHECK_THROWS_WITH(Estimator(model_fn, saving_every(dir.path(), 3)).train(line(), {.max_steps = 10}), "out of paper");
  *armed = false;
  Estimator next(model_fn, saving_every(dir.path(), 3));
  const TrainResult result = next.train(line(), {.max_steps = 10});
  CHECK(result.examples_seen == 40);
  CHECK(saved(next, "linear/w") == saved(whole, "linear/w"));
  CHECK(saved(next, "linear/b") == saved(whole, "linear/b"));
}

TEST_CASE("in the same process a call after one that failed starts its input anew", "[estimator][E3]") {
  const TemporaryDirectory dir;
  const auto armed = std::make_shared<bool>(true);
  Estimator estimator(failing_at(4, armed), saving_every(dir.path(), 3));  // right behind a save
  CHECK_THROWS_WITH(estimator.train(line(16, 4, 1)), "out of paper");
  *armed = false;
  const TrainResult result = estimator.train(line(16, 4, 1));
  CHECK(result.steps == 4);
  CHECK(result.global_step == 7);
  CHECK(result.examples_seen == 12 + 16);
}

TEST_CASE("state that a resumed run has not asked for yet stays in its checkpoints", "[estimator][E4]") {
  const TemporaryDirectory dir;
  const auto model_fn = [](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    at::Tensor loss = (labels.tensor() - linear_output(features, ctx)).square().mean();
    if (ctx.global_step() % 4 == 0) loss = loss + ctx.variable("late/c", [] { return at::ones({}); }).square();
    if (mode != ModeKeys::kTrain) return EstimatorSpec::eval(loss);
    return EstimatorSpec::train(loss, descend(loss, ctx));
  };
  const auto train_to = [&](int64_t step) {
    Estimator(make_model_fn(model_fn), saving_every(dir.path(), 1)).train(line(), {.max_steps = step});
  };
  train_to(1);
  const double after_one = saved(Estimator(make_model_fn(model_fn), quiet(dir.path())), "late/c");
  CHECK(after_one == Approx(0.8));
  train_to(2);
  train_to(4);
  CHECK(saved(Estimator(make_model_fn(model_fn), quiet(dir.path())), "late/c") == after_one);
  train_to(5);
  CHECK(saved(Estimator(make_model_fn(model_fn), quiet(dir.path())), "late/c") == Approx(0.64));
}

TEST_CASE("variables that are not finite are not saved by a call that fails", "[estimator][E46]") {
  const TemporaryDirectory dir;
  const auto model_fn = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    at::Tensor loss = (labels.tensor() - linear_output(features, ctx)).square().mean();
    if (ctx.global_step() == 2) loss = loss * std::numeric_limits<double>::infinity();
    return EstimatorSpec::train(loss, descend(loss, ctx));
  };
  Estimator estimator(make_model_fn(model_fn), saving_every(dir.path(), 100));
  CHECK(failure([&] { estimator.train(line(), {.steps = 6}); }).kind == ErrorKind::kNanLoss);
  CHECK(estimator.latest_checkpoint().value_or("none") == dir.file("model.ckpt-0"));
  // The same Estimator goes on from there, not from what it holds.
  CHECK(estimator.train(line(), {.steps = 2}).global_step == 2);
  CHECK(std::isfinite(saved(estimator, "linear/w")));
}

TEST_CASE("a buffer that holds infinities does not keep a failed call from saving", "[estimator][E4]") {
  struct Masked : torch::nn::Module {
    at::Tensor mask = register_buffer("mask", at::full({2}, -std::numeric_limits<float>::infinity()));
  };
  const TemporaryDirectory dir;
  const auto model_fn = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    ctx.module<Masked>("masked");
    if (ctx.global_step() == 2) throw std::runtime_error("out of paper");
    const at::Tensor loss = (labels.tensor() - linear_output(features, ctx)).square().mean();
    return EstimatorSpec::train(loss, descend(loss, ctx));
  };
  Estimator estimator(make_model_fn(model_fn), saving_every(dir.path(), 100));
  CHECK_THROWS_WITH(estimator.train(line(), {.steps = 6}), "out of paper");
  CHECK(estimator.latest_checkpoint().value_or("none") == dir.file("model.ckpt-2"));
}

TEST_CASE("a model_fn that writes into a variable is refused, and the variable has its value again", "[estimator]") {
  const TemporaryDirectory dir;
  bool writes = false;
  const auto model_fn = [&](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    const at::Tensor y = linear_output(features, ctx);
    if (writes) {
      const at::NoGradGuard no_grad;
      ctx.variable("linear/w", nullptr).fill_(1000);
    }
    if (mode == ModeKeys::kPredict) return EstimatorSpec::predict(y);
    const at::Tensor loss = (labels.tensor() - y).square().mean();
    return EstimatorSpec::train(loss, descend(loss, ctx));
  };
  Estimator estimator(make_model_fn(model_fn), saving_every(dir.path(), 1));
  estimator.train(line(), {.steps = 2});
  const double w = saved(estimator, "linear/w");
  const at::Tensor before = estimator.predict(line_features(3)).tensor().clone();
  writes = true;
  CHECK_THAT(failure([&] { estimator.train(line(), {.steps = 1}); }).message, Contains("linear/w"));
  CHECK_THAT(failure([&] { estimator.predict(line_features(3)); }).message, Contains("linear/w"));
  writes = false;
  CHECK(saved(estimator, "linear/w") == w);
  CHECK(at::equal(estimator.predict(line_features(3)).tensor(), before));
  CHECK(estimator.train(line(), {.steps = 1}).global_step == 3);
}

TEST_CASE("batches of one prediction draw different random numbers, and every call the same ones", "[estimator][E11]") {
  const TemporaryDirectory dir;
  const auto model_fn = [](const Features& features, const Labels&, ModeKeys, ModelContext&) {
    return EstimatorSpec::predict(at::rand({features["x"].size(0)}));
  };
  Estimator estimator(make_model_fn(model_fn), quiet(dir.path()));
  const auto draw = [&] {
    std::vector<at::Tensor> batches;
    for (const Predictions& batch : estimator.predict(line(8, 4, 1), {.yield_single_examples = false})) {
      batches.push_back(batch.tensor());
    }
    return batches;
  };
  const auto first = draw();
  const auto second = draw();
  REQUIRE(first.size() == 2);
  CHECK_FALSE(at::equal(first[0], first[1]));
  CHECK(at::equal(first[0], second[0]));
  CHECK(at::equal(first[1], second[1]));
}

TEST_CASE("weights without a checkpoint are announced", "[estimator][E8][E11]") {
  const TemporaryDirectory dir;
  const CapturedLog log;
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  estimator.predict(line_features(2));
  CHECK(log.count(LogLevel::kWarning, "no checkpoint in " + dir.path()) == 1);
}

TEST_CASE("an absent hook is refused in evaluate too", "[estimator][E25]") {
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  CHECK_THAT(failure([&] { estimator.evaluate(line(8, 4, 1), {.hooks = {nullptr}}); }).message,
             Contains("absent hook"));
}

TEST_CASE("a saver hook that is used again tells each listener once", "[estimator][E43]") {
  const TemporaryDirectory dir;
  const auto saver = std::make_shared<CheckpointSaverHook>(CheckpointSaverOptions{.save_steps = 1});
  const auto listener = std::make_shared<CountingListener>();
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  estimator.train(line(), {.steps = 1, .hooks = {saver}, .saving_listeners = {listener}});
  CHECK(listener->saves == 2);  // at the start, and step 1
  estimator.train(line(), {.steps = 1, .hooks = {saver}, .saving_listeners = {listener}});
  CHECK(listener->saves == 3);
}

TEST_CASE("a signal that comes when nobody looks any more still ends the process's handler", "[estimator]") {
  static int heard = 0;
  const auto before = std::signal(SIGTERM, [](int) { ++heard; });
  struct Late : SessionRunHook {
    void end(HookSession&) override { std::raise(SIGTERM); }
  };
  const TemporaryDirectory dir;
  Estimator(linear_model_fn, quiet(dir.path())).train(line(), {.steps = 1, .hooks = {std::make_shared<Late>()}});
  CHECK(heard == 1);
  std::signal(SIGTERM, before);
}

TEST_CASE("a part that no step had used before the checkpoint does not stand in the way of going on",
          "[estimator][E3]") {
  const TemporaryDirectory dir;
  const auto model_fn = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    at::Tensor loss = (labels.tensor() - linear_output(features, ctx)).square().mean();
    if (ctx.global_step() >= 2) loss = loss + ctx.variable("late/c", [] { return at::ones({}); }).square();
    return EstimatorSpec::train(loss, descend(loss, ctx));
  };
  Estimator(make_model_fn(model_fn), saving_every(dir.path(), 1)).train(line(), {.max_steps = 2});
  const CapturedLog log;
  Estimator next(make_model_fn(model_fn), saving_every(dir.path(), 1));
  CHECK(next.train(line(), {.max_steps = 3}).global_step == 3);
  CHECK(saved(next, "late/c") == Approx(0.8));
  CHECK(log.count(LogLevel::kWarning, "late/c") == 1);
}

TEST_CASE("a train call inside a train call of the same Estimator is refused, and the outer one goes on",
          "[estimator][E3]") {
  const TemporaryDirectory dir;
  Estimator* self = nullptr;
  std::vector<Failure> inner;
  const auto again = [&] { inner.push_back(failure([&] { self->train(line(), {.steps = 1}); })); };
  const ModelFn recursive = [&](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    if (ctx.global_step() == 1) again();
    return linear_model_fn(features, labels, mode, ctx);
  };
  std::vector<std::string> calls;
  const auto hook = std::make_shared<RecordingHook>("hook", calls, [&](const std::string& place, RunContext* context) {
    if (place != "end" && context && context->global_step() == 2) again();
  });
  Estimator estimator(recursive, quiet(dir.path()));
  self = &estimator;
  const TrainResult result = estimator.train(line(), {.steps = 4, .hooks = {hook}});
  CHECK(result.global_step == 4);
  CHECK(inner.size() == 4);  // model_fn, before_run, before_apply, and after_run of the step before
  for (const Failure& found : inner) {
    CHECK(found.kind == ErrorKind::kFailedPrecondition);
    CHECK_THAT(found.message, Contains("in a train call already"));
  }
  const TemporaryDirectory plain_dir;
  Estimator plain(linear_model_fn, quiet(plain_dir.path()));
  CHECK(plain.train(line(), {.steps = 4}).loss == result.loss);
  CHECK(estimator.train(line(), {.steps = 1}).global_step == 5);
}

TEST_CASE("training does not mind that its caller is in InferenceMode", "[estimator][E3]") {
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  const c10::InferenceMode inference;
  estimator.train(line(), {.steps = 3});
  CHECK(saved(estimator, "linear/w") > 0);
  CHECK(c10::InferenceMode::is_enabled());
}

TEST_CASE("rows are counted in features where no label has any, and undefined ones are named", "[estimator][E3]") {
  const TemporaryDirectory dir;
  const ModelFn model_fn = [](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    if (mode == ModeKeys::kPredict) return linear_model_fn(features, labels, mode, ctx);
    const at::Tensor loss = (linear_output(features, ctx) - labels.tensor()).square().mean();
    return EstimatorSpec::train(loss, descend(loss, ctx));
  };
  const InputFn one_label = [] {
    return Dataset::from_generator(
        [] { return [] {
               return std::optional<Batch>(Batch{line_features(4), at::ones({})});
             }; }, {.batched = true});
  };
  Estimator estimator(model_fn, quiet(dir.path()));
  CHECK(estimator.train(one_label, {.steps = 3}).examples_seen == 12);
  CHECK(saved(estimator, "linear/w") != 0);
  const Failure found = failure([&] { estimator.predict(Features{{"x", at::Tensor()}}); });
  CHECK_THAT(found.message, Contains("feature 'x'") && Contains("undefined"));
}

TEST_CASE("checkpoints that somebody removed between two calls are missed aloud", "[estimator][E3]") {
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  estimator.train(line(), {.steps = 3});
  posix_file_system().remove_all(dir.path());
  const CapturedLog log;
  CHECK(estimator.train(line(), {.steps = 2}).global_step == 2);
  CHECK(log.count(LogLevel::kWarning, "model.ckpt-3") == 1);
}
