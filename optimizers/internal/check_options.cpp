#include "optimizers/internal/check_options.h"

#include <cmath>

#include "core/error.h"

namespace belfry::internal {

LearningRate checked_rate(const char* optimizer, LearningRate rate) {
  if (rate.is_constant()) {
    require(std::isfinite(rate.at(0)) && rate.at(0) >= 0, optimizer, ": learning_rate is ", rate.at(0),
            "; a number of 0 or more is wanted");
  }
  return rate;
}

void check_range(const char* optimizer, const char* option, double value, double low, double high) {
  require(value >= low && value < high, optimizer, ": ", option, " is ", value, "; wanted at least ", low,
          " and below ", high);
}

}  // namespace belfry::internal
