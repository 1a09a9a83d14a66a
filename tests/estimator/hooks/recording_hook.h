// Hooks for tests of hooks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "estimator/session_run_hook.h"

namespace belfry::testing {

// Writes down "NAME place step" into a list that it does not own, and then does what the test wants there.
class RecordingHook : public SessionRunHook {
 public:
  using Action = std::function<void(const std::string& place, RunContext* context)>;

  RecordingHook(std::string name, std::vector<std::string>& calls, Action action = {})
      : name_(std::move(name)), calls_(calls), action_(std::move(action)) {}

  void begin(HookSession& session) override { note("begin", session.store.global_step(), nullptr); }
  void before_run(RunContext& context) override { note("before_run", context.global_step(), &context); }
  void before_apply(RunContext& context) override { note("before_apply", context.global_step(), &context); }
  void after_run(RunContext& context) override { note("after_run", context.global_step(), &context); }
  void end(HookSession& session) override { note("end", session.store.global_step(), nullptr); }

 private:
  void note(const std::string& place, int64_t step, RunContext* context) {
    calls_.push_back(name_ + " " + place + " " + std::to_string(step));
    if (action_) action_(place, context);
  }

  std::string name_;
  std::vector<std::string>& calls_;
  Action action_;
};

}  // namespace belfry::testing
