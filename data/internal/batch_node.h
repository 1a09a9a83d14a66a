// Dataset::batch.
#pragma once

#include "data/internal/node.h"

namespace belfry::data_internal {

NodePtr make_batch(NodePtr input, int64_t size, bool drop_remainder);

}  // namespace belfry::data_internal
