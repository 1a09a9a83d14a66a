// Numbers of steps that may stand for "never".
#pragma once

#include <cstdint>
#include <limits>

namespace belfry::internal {

// The step that lies `steps` after `step`, neither of them negative; the largest number where there is none.
inline int64_t step_after(int64_t step, int64_t steps) {
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
  return steps > kLast - step ? kLast : step + steps;
}

}  // namespace belfry::internal
