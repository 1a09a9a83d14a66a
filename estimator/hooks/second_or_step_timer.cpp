#include "estimator/hooks/second_or_step_timer.h"

#include <chrono>
#include <utility>

#include "core/error.h"

namespace belfry {
namespace {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

SecondOrStepTimer::SecondOrStepTimer(std::optional<int64_t> every_steps, std::optional<double> every_secs,
                                     std::function<double()> clock)
    : every_steps_(every_steps), every_secs_(every_secs), clock_(clock ? std::move(clock) : steady_seconds) {
  require(every_steps.has_value() != every_secs.has_value(), "timer: exactly one of steps and seconds is wanted; ",
          every_steps ? "both" : "neither", " are given");
  require(every_steps.value_or(1) > 0, "timer: every ", every_steps.value_or(0), " steps; more than 0 is wanted");
  require(every_secs.value_or(1) > 0, "timer: every ", every_secs.value_or(0), " seconds; more than 0 is wanted");
}

bool SecondOrStepTimer::should_trigger(int64_t step) const {
  if (!last_step_) return true;
  if (step == *last_step_) return false;
  return every_steps_ ? step - *last_step_ >= *every_steps_ : clock_() >= last_time_ + *every_secs_;
}

void SecondOrStepTimer::update_last_triggered(int64_t step) {
  const double now = clock_();
  if (last_step_) {
    elapsed_secs_ = now - last_time_;
    elapsed_steps_ = step - *last_step_;
  }
  last_step_ = step;
  last_time_ = now;
}

}  // namespace belfry
