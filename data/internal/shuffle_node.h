// Dataset::shuffle.
#pragma once

#include "data/internal/node.h"

namespace belfry {
struct ShuffleOptions;
}

namespace belfry::data_internal {

NodePtr make_shuffle(NodePtr input, const ShuffleOptions& options);

}  // namespace belfry::data_internal
