// Dataset::prefetch.
#pragma once

#include "data/internal/node.h"

namespace belfry::data_internal {

NodePtr make_prefetch(NodePtr input, int64_t buffer);

}  // namespace belfry::data_internal
