#include "estimator/hooks/step_counter_hook.h"

#include "estimator/summaries/event_writer.h"

namespace belfry {

StepCounterHook::StepCounterHook(std::optional<int64_t> every_n_steps, std::optional<double> every_n_secs)
    : timer_(every_n_steps, every_n_secs) {}

void StepCounterHook::begin(HookSession& session) {
  events_ = session.events;
  timer_.update_last_triggered(session.store.global_step());
}

void StepCounterHook::after_run(RunContext& context) {
  if (!events_ || !timer_.should_trigger(context.global_step())) return;
  timer_.update_last_triggered(context.global_step());
  if (timer_.elapsed_secs().value_or(0) <= 0) return;
  const double per_second = static_cast<double>(*timer_.elapsed_steps()) / *timer_.elapsed_secs();
  events_->add_scalar("global_step/sec", per_second, context.global_step());
}

}  // namespace belfry
