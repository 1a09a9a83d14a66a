// A learning rate: a number, or a function of the global step.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <utility>

namespace belfry {

// A pure function of the global step, so that nothing of it has to be saved. Copies are cheap; threads may share one
// when the user's function allows it.
class LearningRate {
 public:
  LearningRate(double rate) : rate_(rate) {}  // NOLINT(google-explicit-constructor)
  // `schedule(step)` gives the rate of the step that comes after `step` committed ones.
  template <class Schedule>
  requires std::convertible_to < std::invoke_result_t<Schedule, int64_t>,
  double > LearningRate(Schedule schedule) : schedule_(std::move(schedule)) {}  // NOLINT(google-explicit-constructor)

  double at(int64_t global_step) const { return schedule_ ? schedule_(global_step) : rate_; }
  bool is_constant() const { return !schedule_; }

 private:
  double rate_ = 0;
  std::function<double(int64_t)> schedule_;
};

}  // namespace belfry
