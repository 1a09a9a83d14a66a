// A shard that no worker may find empty.
#pragma once

#include "data/internal/node.h"
#include "data/internal/slice_node.h"

namespace belfry::data_internal {

// The elements index, index + count …, and how the user writes it.
Slice shard_slice(int64_t count, int64_t index);
std::string shard_call(int64_t count, int64_t index);

// The same elements; but kInvalidArgument from the first next() where there are fewer than `count` in all.
NodePtr make_full_shard(NodePtr input, int64_t count, int64_t index);

}  // namespace belfry::data_internal
