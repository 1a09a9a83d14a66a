// Dataset::from_numpy.
#pragma once

#include <string>

#include "data/internal/node.h"
#include "data/numpy_options.h"

namespace belfry::data_internal {

NodePtr read_numpy(const std::string& path, const NumpyOptions& options);

}  // namespace belfry::data_internal
