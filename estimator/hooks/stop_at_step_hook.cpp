#include "estimator/hooks/stop_at_step_hook.h"

#include "core/error.h"
#include "estimator/internal/step_after.h"

namespace belfry {

StopAtStepHook::StopAtStepHook(StopAtStepOptions options) : options_(options) {
  require(options.num_steps.has_value() != options.last_step.has_value(),
          "StopAtStepHook: exactly one of num_steps and last_step is wanted");
  const int64_t number = options.num_steps ? *options.num_steps : *options.last_step;
  require(number > 0, "StopAtStepHook: the number of steps is ", number, "; more than 0 is wanted");
}

void StopAtStepHook::begin(HookSession& session) {
  last_step_ =
      options_.last_step ? *options_.last_step : internal::step_after(session.store.global_step(), *options_.num_steps);
}

void StopAtStepHook::after_run(RunContext& context) {
  if (context.global_step() >= last_step_) {
    context.request_stop(concat("global step ", context.global_step(), " reached ", last_step_));
  }
}

}  // namespace belfry
