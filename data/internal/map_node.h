// Dataset::map.
#pragma once

#include <functional>

#include "data/internal/node.h"

namespace belfry::data_internal {

using MapFunction = std::function<Batch(Batch)>;

// With random access if the input has it.
NodePtr make_map(NodePtr input, MapFunction function);

}  // namespace belfry::data_internal
