// Dataset::take, skip and shard.
#pragma once

#include "data/internal/node.h"

namespace belfry::data_internal {

// The elements offset, offset + stride … at most `limit` of them; below zero is no limit.
struct Slice {
  int64_t offset = 0;
  int64_t stride = 1;
  int64_t limit = -1;
};

// How many of `total` elements.
int64_t count_of(int64_t total, const Slice& slice);

// With random access if the input has it. `call` is what the user wrote, for the description.
NodePtr make_slice(NodePtr input, const Slice& slice, const std::string& call);

}  // namespace belfry::data_internal
