// "Every n steps" or "every s seconds".
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace belfry {

// Triggers when it never has, and then when so many steps or seconds have passed since the last time; never twice for
// one step. Used by one thread.
class SecondOrStepTimer {
 public:
  // kInvalidArgument unless exactly one is given and is above 0. `clock` gives seconds; empty: the steady clock.
  SecondOrStepTimer(std::optional<int64_t> every_steps, std::optional<double> every_secs,
                    std::function<double()> clock = {});

  bool should_trigger(int64_t step) const;
  void update_last_triggered(int64_t step);
  // Seconds and steps between the last two triggers; nothing before the second.
  std::optional<double> elapsed_secs() const { return elapsed_secs_; }
  std::optional<int64_t> elapsed_steps() const { return elapsed_steps_; }

 private:
  std::optional<int64_t> every_steps_;
  std::optional<double> every_secs_;
  std::function<double()> clock_;
  std::optional<int64_t> last_step_;
  double last_time_ = 0;
  std::optional<double> elapsed_secs_;
  std::optional<int64_t> elapsed_steps_;
};

}  // namespace belfry
