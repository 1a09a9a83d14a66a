// Checks that all optimizers make of their options.
#pragma once

#include "optimizers/learning_rate.h"

namespace belfry::internal {

// The rate itself. kInvalidArgument, with the value, for a constant one that is negative or not finite.
LearningRate checked_rate(const char* optimizer, LearningRate rate);
// kInvalidArgument, naming the option and its value, unless low <= value < high.
void check_range(const char* optimizer, const char* option, double value, double low, double high);

}  // namespace belfry::internal
