// Steps per second, for TensorBoard.
#pragma once

#include "../session_run_hook.h"
#include "second_or_step_timer.h"

namespace belfry {

// Writes global_step/sec every so many steps (or seconds).
class StepCounterHook : public SessionRunHook {
 public:
  explicit StepCounterHook(std::optional<int64_t> every_n_steps = 100, std::optional<double> every_n_secs = {});

  void begin(HookSession& session) override;
  void after_run(RunContext& context) override;

 private:
  SecondOrStepTimer timer_;
  EventFileWriter* events_ = nullptr;
};

}  // namespace belfry
