// Hooks beside several towers: whose they are, where they run, and what is left when one throws.
#include "tests/testing.h"
// testing.h has to come first

#include <atomic>
#include <functional>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "core/file_system.h"
#include "estimator/estimator.h"
#include "estimator/summaries/event_reader.h"
#include "tests/estimator/hooks/recording_hook.h"
#include "tests/support/temporary_directory.h"
#include "tests/towers/abs_model.h"
#include "tests/towers/log_catcher.h"

namespace belfry {
namespace {

using testing::abs_model;
using testing::column;
using testing::LogCatcher;
using testing::RecordingHook;
using testing::TemporaryDirectory;
using testing::towers;

struct Boom : std::runtime_error {
  using std::runtime_error::runtime_error;
};

RunConfig quiet(const TemporaryDirectory& directory) {
  return {.model_dir = directory.path(), .save_summary_steps = 0, .log_step_count_steps = 0};
}

Dataset endless() { return Dataset::from_tensors(column({1, 2}), column({1, 2})).batch(2).repeat(); }
Dataset two_batches() { return endless().take(2); }

// The abs model, each tower of which brings a hook into every field of its spec.
ModelFn bringing(std::function<std::shared_ptr<SessionRunHook>(int tower, const std::string& field)> hook) {
  return [hook](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    EstimatorSpec spec = abs_model(features, labels, mode, ctx);
    const int tower = ctx.tower_index();
    spec.training_hooks = {hook(tower, "training")};
    spec.training_chief_hooks = {hook(tower, "chief")};
    spec.evaluation_hooks = {hook(tower, "evaluation")};
    spec.prediction_hooks = {hook(tower, "prediction")};
    return spec;
  };
}

TEST_CASE("replicate_model_fn: the hooks of tower 0 run, in the mode that they are for, on the caller's thread",
          "[towers][replicate][hooks][R15][R19]") {
  std::vector<std::string> calls;
  std::set<std::thread::id> threads;
  const auto hook = [&](int tower, const std::string& field) {
    return std::make_shared<RecordingHook>(
        "tower " + std::to_string(tower) + " " + field, calls,
        [&](const auto&, RunContext*) { threads.insert(std::this_thread::get_id()); });
  };
  const TemporaryDirectory directory;
  Estimator estimator(towers(bringing(hook), 3, LossReduction::kSum), quiet(directory));
  estimator.train(endless, {.steps = 1});
  CHECK(calls == std::vector<std::string>{"tower 0 training begin 0", "tower 0 chief begin 0",
                                          "tower 0 training before_apply 0", "tower 0 chief before_apply 0",
                                          "tower 0 training after_run 1", "tower 0 chief after_run 1",
                                          "tower 0 training end 1", "tower 0 chief end 1"});
  calls.clear();
  estimator.evaluate(two_batches, {.steps = 1});
  CHECK(calls == std::vector<std::string>{"tower 0 evaluation begin 1", "tower 0 evaluation after_run 1",
                                          "tower 0 evaluation end 1"});
  calls.clear();
  for (const Predictions& row : estimator.predict(two_batches)) CHECK(row["probabilities"].numel() == 1);
  CHECK(calls == std::vector<std::string>{"tower 0 prediction begin 1", "tower 0 prediction after_run 1",
                                          "tower 0 prediction before_run 1", "tower 0 prediction after_run 1",
                                          "tower 0 prediction end 1"});
  CHECK(threads == std::set{std::this_thread::get_id()});
}

TEST_CASE("replicate_model_fn: a hook sees the loss, the rows and the predictions of all towers",
          "[towers][replicate][hooks]") {
  struct Looking : SessionRunHook {
    void before_apply(RunContext& context) override {
      CHECK(context.loss() == 27);
      CHECK(context.rows() == 2);
      CHECK(context.spec().tower_losses.size() == 2);
      ++looks;
    }
    int looks = 0;
  };
  const auto hook = std::make_shared<Looking>();
  const TemporaryDirectory directory;
  Estimator estimator(towers(abs_model, 2, LossReduction::kSum), quiet(directory));
  estimator.train(two_batches, {.steps = 1, .hooks = {hook}});
  CHECK(hook->looks == 1);
}

TEST_CASE("replicate_model_fn: a hook that throws at any place leaves the last step, and the next call goes on",
          "[towers][replicate][hooks][failure]") {
  const std::string place = GENERATE("begin", "before_run", "before_apply", "after_run", "end");
  const bool of_model = GENERATE(false, true);
  CAPTURE(place, of_model);
  if (of_model && place == "begin") return;  // begins with the step that makes it: as before_apply
  std::vector<std::string> calls;
  std::atomic<bool> armed{true};
  const auto throwing = std::make_shared<RecordingHook>("", calls, [&](const std::string& where, RunContext* context) {
    if (armed && where == place && (!context || context->global_step() == 1)) throw Boom("in " + place);
  });
  const auto harmless = std::make_shared<SessionRunHook>();
  const ModelFn model = bringing([&](int tower, const std::string& field) -> std::shared_ptr<SessionRunHook> {
    return of_model && tower == 0 && field == "training" ? throwing : harmless;
  });
  const TemporaryDirectory directory;
  Estimator estimator(towers(model, 3, LossReduction::kSum), quiet(directory));
  const Hooks hooks = of_model ? Hooks{} : Hooks{throwing};
  const LogCatcher log;
  CHECK_THROWS_AS(estimator.train(endless, {.steps = 2, .hooks = hooks}), Boom);
  armed = false;
  const int64_t committed = place == "begin" ? 0 : place == "end" ? 2 : 1;
  CHECK(estimator.train(endless, {.steps = 1}).global_step == committed + 1);
  CHECK(estimator.get_variable_value("c").item<double>() == 10 - 3.0 * static_cast<double>(committed + 1));
}

TEST_CASE("replicate_model_fn: a hook that throws in evaluate or predict leaves both usable",
          "[towers][replicate][hooks][failure]") {
  const std::string place = GENERATE("begin", "before_run", "after_run", "end");
  CAPTURE(place);
  std::vector<std::string> calls;
  const auto throwing = std::make_shared<RecordingHook>("", calls, [&](const std::string& where, RunContext*) {
    if (where == place) throw Boom("in " + place);
  });
  const TemporaryDirectory directory;
  Estimator estimator(towers(abs_model, 2, LossReduction::kSum), quiet(directory));
  estimator.train(endless, {.steps = 1});
  const auto predict_all = [&](const Hooks& hooks) {
    int rows = 0;
    for (const Predictions& row : estimator.predict(two_batches, {.hooks = hooks})) rows += row.empty() ? 0 : 1;
    return rows;
  };
  CHECK_THROWS_AS(estimator.evaluate(two_batches, {.hooks = {throwing}}), Boom);
  CHECK_THROWS_AS(predict_all({throwing}), Boom);
  CHECK(estimator.evaluate(two_batches).loss() == 18);  // c is 7
  CHECK(predict_all({}) == 4);
}

// --- Summaries ---

TEST_CASE("replicate_model_fn: of what towers note for TensorBoard the first one's is written, and the loss of all",
          "[towers][replicate][hooks][R15]") {
  const auto model = [](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    ctx.summary("first_row", features.tensor()[0]);
    if (ctx.tower_index() > 0) ctx.summary("of_others", at::ones({}));
    return abs_model(features, labels, mode, ctx);
  };
  const TemporaryDirectory directory;
  RunConfig config = quiet(directory);
  config.save_summary_steps = 2;
  Estimator estimator(towers(model, 3, LossReduction::kSum), config);
  const at::Tensor x = column({4, 2, 1});
  estimator.train([&] { return Dataset::from_tensors(x, x).batch(3).repeat(); }, {.steps = 3});
  auto scalars = read_scalars(posix_file_system(), directory.path());
  REQUIRE(scalars.size() == 2);
  for (const int64_t step : {1, 3}) {
    CAPTURE(step);
    CHECK(scalars[step].size() == 2);
    CHECK(scalars[step].at("first_row") == 4);
    CHECK(scalars[step].contains("loss"));
  }
  CHECK(scalars[1].at("loss") == 9 * (4 + 2 + 1));
}

// --- A synchronising optimizer inside the wrapper ---

// Gradient descent that waits for its hook, as SyncReplicasOptimizer does for the tokens that its hook puts out: here
// it throws where that one would wait for ever.
class SynchronisingRule : public UpdateRule {
 public:
  explicit SynchronisingRule(std::shared_ptr<std::atomic<bool>> ready) : ready_(std::move(ready)) {}
  std::string name() const override { return "SyncReplicas"; }
  void apply(const UpdateArguments& arguments, UpdateLists& lists) const override {
    if (!*ready_) throw Boom("the hook of the synchronising optimizer did not run");
    for (size_t i = 0; i < lists.parameters.size(); ++i) {
      lists.parameters[i].sub_(lists.gradients[i], arguments.learning_rate);
    }
  }

 private:
  std::shared_ptr<std::atomic<bool>> ready_;
};

TEST_CASE("SyncReplicas works: multiple towers, TowerOptimizer outermost, its hook among the training hooks",
          "[towers][replicate][hooks][R14]") {
  struct TokenHook : SessionRunHook {
    explicit TokenHook(std::shared_ptr<std::atomic<bool>> ready) : ready(std::move(ready)) {}
    void begin(HookSession&) override { *ready = true; }
    std::shared_ptr<std::atomic<bool>> ready;
  };
  for (const bool with_hook : {true, false}) {
    const auto ready = std::make_shared<std::atomic<bool>>(false);
    const Optimizer synchronising(std::make_shared<SynchronisingRule>(ready), 1.0);
    const auto model = [=](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
      EstimatorSpec spec = testing::abs_spec(features, labels, mode, ctx, TowerOptimizer(synchronising));
      if (with_hook) spec.training_hooks = {std::make_shared<TokenHook>(ready)};
      return spec;
    };
    const TemporaryDirectory directory;
    Estimator estimator(towers(model, 2, LossReduction::kSum), quiet(directory));
    const Features features{{"features", column({1, 2})}};
    const auto input = [&] { return Dataset::from_tensors(features, column({1, 2})).batch(2); };
    const LogCatcher log;
    if (with_hook) {
      CHECK(estimator.train(input, {.steps = 1}).loss == 27);
      CHECK(estimator.get_variable_value("c").item<double>() == 7);
    } else {
      CHECK_THROWS_AS(estimator.train(input, {.steps = 1}), Boom);
    }
  }
}

}  // namespace
}  // namespace belfry
