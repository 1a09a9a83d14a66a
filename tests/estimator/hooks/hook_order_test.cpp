#include "tests/testing.h"

#include "checkpoint/checkpoint_manager.h"
#include "core/error.h"
#include "estimator/hooks/checkpoint_saver_hook.h"
#include "recording_hook.h"
#include "tests/estimator/linear_model.h"
#include "tests/support/check_fails.h"
#include "tests/support/temporary_directory.h"

using namespace belfry;
using namespace belfry::testing;
using Catch::Contains;

namespace {

using Calls = std::vector<std::string>;

std::shared_ptr<RecordingHook> recording(const std::string& name, Calls& calls, RecordingHook::Action action = {}) {
  return std::make_shared<RecordingHook>(name, calls, std::move(action));
}

// Says when the model_fn is called, and brings a hook "spec" for every mode.
ModelFn noting_model_fn(Calls& calls) {
  return [&calls](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    calls.push_back(concat("model_fn ", to_string(mode)));
    EstimatorSpec spec = linear_model_fn(features, labels, mode, ctx);
    const Hooks hooks{recording("spec", calls)};
    (mode == ModeKeys::kTrain  ? spec.training_hooks
     : mode == ModeKeys::kEval ? spec.evaluation_hooks
                               : spec.prediction_hooks) = hooks;
    if (mode == ModeKeys::kTrain) spec.training_chief_hooks = {recording("chief", calls)};
    return spec;
  };
}

class NotingListener : public CheckpointSaverListener {
 public:
  explicit NotingListener(Calls& calls, int64_t stop_at = -1) : calls_(calls), stop_at_(stop_at) {}
  void begin() override { calls_.push_back("listener begin"); }
  void before_save(int64_t step) override { calls_.push_back(concat("listener before_save ", step)); }
  bool after_save(int64_t step, const std::string& prefix) override {
    calls_.push_back(concat("listener after_save ", step));
    CHECK(checkpoint_step(prefix) == step);
    return step == stop_at_;
  }
  void end(int64_t step) override { calls_.push_back(concat("listener end ", step)); }

 private:
  Calls& calls_;
  int64_t stop_at_;
};

}  // namespace

TEST_CASE("training calls hooks, model_fn and savers in one order", "[estimator][hooks][E5][E25][E41][E43]") {
  const TemporaryDirectory dir;
  Calls calls;
  RunConfig config = quiet(dir.path());
  config.save_checkpoints_steps = 2;
  Estimator estimator(noting_model_fn(calls), config);
  estimator.train(
      line(),
      {.steps = 2, .hooks = {recording("user", calls)}, .saving_listeners = {std::make_shared<NotingListener>(calls)}});
  CHECK(calls == Calls{"user begin 0",
                       "listener begin",
                       "user before_run 0",
                       "model_fn train",
                       "spec begin 0",
                       "chief begin 0",
                       "user before_apply 0",
                       "spec before_apply 0",
                       "chief before_apply 0",
                       "listener before_save 0",
                       "listener after_save 0",
                       "user after_run 1",
                       "spec after_run 1",
                       "chief after_run 1",
                       "user before_run 1",
                       "spec before_run 1",
                       "chief before_run 1",
                       "model_fn train",
                       "user before_apply 1",
                       "spec before_apply 1",
                       "chief before_apply 1",
                       "user after_run 2",
                       "spec after_run 2",
                       "chief after_run 2",
                       "listener before_save 2",
                       "listener after_save 2",
                       "user end 2",
                       "spec end 2",
                       "chief end 2",
                       "listener end 2"});
}

TEST_CASE("evaluation calls hooks around each batch", "[estimator][hooks][E25][E41]") {
  const TemporaryDirectory dir;
  Calls calls;
  Estimator estimator(noting_model_fn(calls), quiet(dir.path()));
  estimator.evaluate(line(), {.steps = 2, .hooks = {recording("user", calls)}});
  CHECK(calls == Calls{"user begin 0", "user before_run 0", "model_fn eval", "spec begin 0", "user after_run 0",
                       "spec after_run 0", "user before_run 0", "spec before_run 0", "model_fn eval",
                       "user after_run 0", "spec after_run 0", "user end 0", "spec end 0"});
}

TEST_CASE("prediction calls hooks around each batch", "[estimator][hooks][E25][E41]") {
  const TemporaryDirectory dir;
  Calls calls;
  Estimator estimator(noting_model_fn(calls), quiet(dir.path()));
  SECTION("of a range") {
    for (const Predictions& row : estimator.predict(line(2, 1, 1), {.hooks = {recording("user", calls)}})) (void)row;
    CHECK(calls == Calls{"user begin 0", "user before_run 0", "model_fn infer", "spec begin 0", "user after_run 0",
                         "spec after_run 0", "user before_run 0", "spec before_run 0", "model_fn infer",
                         "user after_run 0", "spec after_run 0", "user end 0", "spec end 0"});
  }
  SECTION("of one batch") {
    estimator.predict(line_features(2), {.hooks = {recording("user", calls)}});
    CHECK(calls == Calls{"user begin 0", "user before_run 0", "model_fn infer", "spec begin 0", "user after_run 0",
                         "spec after_run 0", "user end 0", "spec end 0"});
  }
}

TEST_CASE("hooks see loss, rows and spec of their step, and the variables before and after it", "[estimator][hooks]") {
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  class Looking : public SessionRunHook {
   public:
    void begin(HookSession& session) override {
      store = &session.store;
      CHECK(session.mode == ModeKeys::kTrain);
    }
    void before_apply(RunContext& context) override {
      CHECK(context.rows() == 4);
      CHECK(context.loss() == context.spec().loss.item<double>());
      CHECK(context.loss() > 0);
      CHECK(store->find("linear/w")->value().item<double>() == 0);
    }
    void after_run(RunContext& context) override {
      CHECK(context.global_step() == 1);
      CHECK(store->find("linear/w")->value().item<double>() != 0);
    }
    VariableStore* store = nullptr;
  };
  estimator.train(line(), {.steps = 1, .hooks = {std::make_shared<Looking>()}});
}

TEST_CASE("a hook's wish to stop ends the loop after the step", "[estimator][hooks][E41]") {
  const TemporaryDirectory dir;
  Calls calls;
  const auto stop_in = [&](const std::string& place, int64_t step) {
    return recording("user", calls, [=](const std::string& where, RunContext* context) {
      if (where == place && context->global_step() == step) context->request_stop("seen enough");
    });
  };
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  TrainResult result = estimator.train(line(), {.steps = 10, .hooks = {stop_in("after_run", 3)}});
  CHECK(result.reason == StopReason::kHook);
  CHECK(result.detail == "seen enough");
  CHECK(result.global_step == 3);
  CHECK(saved(estimator, "global_step") == 3);
  CHECK(calls.back() == "user end 3");
  CHECK(estimator.train(line(), {.steps = 10, .hooks = {stop_in("before_run", 4)}}).global_step == 5);
  CHECK(estimator.evaluate(line(), {.hooks = {stop_in("after_run", 5)}}).rows() == 4);
  int rows = 0;
  for (const Predictions& row : estimator.predict(line(), {.hooks = {stop_in("after_run", 5)}})) {
    (void)row;
    ++rows;
  }
  CHECK(rows == 4);
  CHECK(calls.back() == "user end 5");
}

TEST_CASE("a vetoed step changes nothing and is not counted", "[estimator][hooks]") {
  const TemporaryDirectory dir;
  const TemporaryDirectory other;
  Calls calls;
  int batches = 0;
  const auto veto_second = recording("user", calls, [&](const std::string& place, RunContext* context) {
    if (place == "before_apply" && ++batches == 2) context->veto();
  });
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  const TrainResult result = estimator.train(line(16, 4, 1), {.hooks = {veto_second}});
  CHECK(batches == 4);
  CHECK(result.global_step == 3);
  const InputFn others = [] {
    return Dataset::from_tensors(
               {{"x", at::cat({line_features(16)["x"].narrow(0, 0, 4), line_features(16)["x"].narrow(0, 8, 8)})}},
               at::cat({line_labels(16).tensor().narrow(0, 0, 4), line_labels(16).tensor().narrow(0, 8, 8)}))
        .batch(4);
  };
  Estimator without(linear_model_fn, quiet(other.path()));
  without.train(others);
  CHECK(saved(estimator, "linear/w") == saved(without, "linear/w"));
}

TEST_CASE("an exception at any place of a hook leaves the last step, and the Estimator usable",
          "[estimator][hooks][E41]") {
  const TemporaryDirectory dir;
  const std::string place = GENERATE("begin", "before_run", "before_apply", "after_run", "end");
  CAPTURE(place);
  Calls calls;
  const auto throwing = recording("user", calls, [&](const std::string& where, RunContext* context) {
    if (where != place) return;
    if (context && context->global_step() < 5) return;
    fail(ErrorKind::kOutOfRange, "thrown in ", place);
  });
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  estimator.train(line(), {.steps = 3});
  const Failure found = failure([&] { estimator.train(line(), {.steps = 4, .hooks = {throwing}}); });
  CHECK(found.kind == ErrorKind::kOutOfRange);
  CHECK(found.message == "thrown in " + place);
  const int64_t left_at = place == "begin" ? 3 : place == "end" ? 7 : 5;
  CHECK(saved(estimator, "global_step") == left_at);
  const auto ends = std::count_if(calls.begin(), calls.end(), [](const auto& c) { return c.starts_with("user end"); });
  CHECK(ends == (place == "end" ? 1 : 0));  // end() is not called after an exception
  CHECK(estimator.train(line(), {.steps = 2}).global_step == left_at + 2);

  // The same steps without the exception give the same variables.
  const TemporaryDirectory other;
  Estimator calm(linear_model_fn, quiet(other.path()));
  calm.train(line(), {.steps = 3});
  if (left_at > 3) calm.train(line(), {.steps = left_at - 3});
  calm.train(line(), {.steps = 2});
  CHECK(saved(estimator, "linear/w") == saved(calm, "linear/w"));
}

TEST_CASE("an exception in a hook of evaluate or predict writes nothing", "[estimator][hooks]") {
  const TemporaryDirectory dir;
  const std::string place = GENERATE("begin", "before_run", "after_run", "end");
  CAPTURE(place);
  Calls calls;
  const auto throwing = recording("user", calls, [&](const std::string& where, RunContext*) {
    if (where == place) fail(ErrorKind::kOutOfRange, "thrown in ", place);
  });
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  estimator.train(line(), {.steps = 3});
  CHECK_THROWS_WITH(estimator.evaluate(line(4, 4, 1), {.hooks = {throwing}}), "thrown in " + place);
  CHECK_FALSE(posix_file_system().exists(estimator.eval_dir()));
  const auto read_all = [&] {
    for (const Predictions& row : estimator.predict(line(4, 4, 1), {.hooks = {throwing}})) (void)row;
  };
  CHECK_THROWS_WITH(read_all(), "thrown in " + place);
  CHECK(estimator.evaluate(line(4, 4, 1)).global_step() == 3);
}

TEST_CASE("a user's CheckpointSaverHook takes the place of the config's", "[estimator][hooks][E5][E43]") {
  const TemporaryDirectory dir;
  RunConfig config = quiet(dir.path());
  config.save_checkpoints_steps = 1;
  config.keep_checkpoint_max = 0;
  Estimator estimator(linear_model_fn, config);
  const auto saver = std::make_shared<CheckpointSaverHook>(CheckpointSaverOptions{.save_steps = 3});
  Calls calls;
  estimator.train(line(),
                  {.steps = 7, .hooks = {saver}, .saving_listeners = {std::make_shared<NotingListener>(calls)}});
  std::vector<int64_t> steps;
  for (const auto& prefix : CheckpointManager(dir.path()).all()) steps.push_back(*checkpoint_step(prefix));
  CHECK(steps == std::vector<int64_t>{0, 3, 6, 7});
  CHECK(std::count(calls.begin(), calls.end(), "listener after_save 6") == 1);
}

TEST_CASE("a listener that has seen enough ends the training", "[estimator][hooks][E43]") {
  const TemporaryDirectory dir;
  RunConfig config = quiet(dir.path());
  config.save_checkpoints_steps = 2;
  Estimator estimator(linear_model_fn, config);
  Calls calls;
  const TrainResult result =
      estimator.train(line(), {.steps = 100, .saving_listeners = {std::make_shared<NotingListener>(calls, 4)}});
  CHECK(result.reason == StopReason::kHook);
  CHECK(result.global_step == 4);
  CHECK(calls.back() == "listener end 4");
}

TEST_CASE("saving goes by seconds, and listeners are told of each checkpoint", "[estimator][hooks][E5][E43]") {
  const TemporaryDirectory dir;
  RunConfig config = quiet(dir.path());
  config.keep_checkpoint_max = 0;
  Calls calls;
  const auto told = [&](double secs) {
    calls.clear();
    config.save_checkpoints_secs = secs;
    Estimator(linear_model_fn, config)
        .train(line(), {.steps = 3, .saving_listeners = {std::make_shared<NotingListener>(calls)}});
    return calls;
  };
  CHECK(told(1e-9) ==  // passes within every step
        Calls{"listener begin", "listener before_save 0", "listener after_save 0", "listener before_save 1",
              "listener after_save 1", "listener before_save 2", "listener after_save 2", "listener before_save 3",
              "listener after_save 3", "listener end 3"});
  CHECK(told(1e9) == Calls{"listener begin", "listener before_save 6", "listener after_save 6", "listener end 6"});
  std::vector<int64_t> steps;
  for (const auto& prefix : CheckpointManager(dir.path()).all()) steps.push_back(*checkpoint_step(prefix));
  CHECK(steps == std::vector<int64_t>{0, 1, 2, 3, 6});
}
