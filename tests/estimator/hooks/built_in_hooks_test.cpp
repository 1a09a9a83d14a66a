// In which order the hooks that train() brings run among themselves and among those of others.
#include "tests/testing.h"

#include <unistd.h>

#include <limits>
#include <sstream>

#include "core/error.h"
#include "estimator/hooks/checkpoint_saver_hook.h"
#include "recording_hook.h"
#include "tests/estimator/linear_model.h"
#include "tests/support/check_fails.h"
#include "tests/support/temporary_directory.h"

using namespace belfry;
using namespace belfry::testing;

namespace {

// Logs each step, and whether a hook before it wants to stop.
struct Saying : SessionRunHook {
  explicit Saying(std::string name) : name(std::move(name)) {}
  void after_run(RunContext& context) override {
    log_info(name, " at ", context.global_step(), context.stop_requested() ? ", to stop" : "");
  }
  std::string name;
};

struct SayingListener : CheckpointSaverListener {
  bool after_save(int64_t step, const std::string&) override {
    log_info("saved ", step);
    return false;
  }
};

ModelFn model_with(Hooks training_hooks) {
  return [training_hooks](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    EstimatorSpec spec = linear_model_fn(features, labels, mode, ctx);
    spec.training_hooks = training_hooks;
    return spec;
  };
}

// The first words of each line, up to a comma or colon after the step.
std::vector<std::string> beginnings(const std::string& log) {
  std::vector<std::string> found;
  std::istringstream in(log);
  for (std::string line; std::getline(in, line);) {
    line = line.substr(line.find(' ') + 1);  // the level
    const size_t end = line.starts_with("step ") ? line.find(',') : line.find(':');
    found.push_back(line.substr(0, end));
  }
  return found;
}

}  // namespace

TEST_CASE("stopping and progress come behind the caller's hooks and before the spec's, savers behind all",
          "[estimator][hooks][E5]") {
  const TemporaryDirectory dir;
  RunConfig config = quiet(dir.path());
  config.save_checkpoints_steps = 1;
  config.log_step_count_steps = 1;
  Estimator estimator(model_with({std::make_shared<Saying>("spec")}), config);
  const CapturedLog log;
  estimator.train(line(), {.steps = 1,
                           .hooks = {std::make_shared<Saying>("user")},
                           .saving_listeners = {std::make_shared<SayingListener>()}});
  std::vector<std::string> wanted{"saved 0",
                                  "user at 1",
                                  "step 1 of 1",
                                  "spec at 1, to stop",
                                  "saved 1",
                                  "ended at step 1 of 1",
                                  "Loss for final step"};
  // On a terminal progress is no part of the log.
  if (isatty(STDERR_FILENO)) std::erase_if(wanted, [](const auto& l) { return l.find("step 1 of 1") != l.npos; });
  CHECK(beginnings(log.text()) == wanted);
}

TEST_CASE("the check for numbers comes behind the caller's hooks and before the spec's",
          "[estimator][hooks][E5][E46]") {
  const TemporaryDirectory dir;
  std::vector<std::string> calls;
  const auto spec_hook = std::make_shared<RecordingHook>("spec", calls);
  const auto model_fn = [&](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    EstimatorSpec spec = linear_model_fn(features, labels, mode, ctx);
    spec.loss = spec.loss * std::numeric_limits<double>::quiet_NaN();
    spec.training_hooks = {spec_hook};
    return spec;
  };
  Estimator estimator(model_fn, quiet(dir.path()));
  const Hooks hooks{std::make_shared<RecordingHook>("user", calls)};
  CHECK(failure([&] { estimator.train(line(), {.steps = 1, .hooks = hooks}); }).kind == ErrorKind::kNanLoss);
  CHECK(calls == std::vector<std::string>{"user begin 0", "user before_run 0", "spec begin 0", "user before_apply 0"});
  CHECK_FALSE(estimator.latest_checkpoint());  // the saver of the start would have been the next
}
