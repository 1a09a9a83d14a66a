// Ends training at a step.
#pragma once

#include <optional>

#include "../session_run_hook.h"

namespace belfry {

struct StopAtStepOptions {
  std::optional<int64_t> num_steps = {};  // so many after the step at which the session starts
  std::optional<int64_t> last_step = {};  // when global_step gets there
};

class StopAtStepHook : public SessionRunHook {
 public:
  // kInvalidArgument unless exactly one of the two is given, above 0.
  explicit StopAtStepHook(StopAtStepOptions options);

  void begin(HookSession& session) override;
  void after_run(RunContext& context) override;

 private:
  StopAtStepOptions options_;
  int64_t last_step_ = 0;
};

}  // namespace belfry
