// What integers a value of a graph can be.
#pragma once

#include <cstdint>
#include <optional>

#include "export/graph/graph.h"

namespace belfry::internal {

struct IdRange {
  int64_t low = 0;
  int64_t high = 0;  // not included
};

// Of the buckets, ids and places that an operation gives, also reshaped, cut, joined or cast. None where nothing is
// known.
std::optional<IdRange> id_range(const Graph& graph, GraphValue value);

}  // namespace belfry::internal
