// Dataset::repeat.
#pragma once

#include "data/internal/node.h"

namespace belfry::data_internal {

// `count` may be kForever.
NodePtr make_repeat(NodePtr input, int64_t count);

}  // namespace belfry::data_internal
