// How input reaches an Estimator.
#pragma once

#include <functional>

#include "dataset.h"

namespace belfry {

// Called once for each train, evaluate or predict, so that every call starts with a fresh reading.
using InputFn = std::function<Dataset()>;

}  // namespace belfry
