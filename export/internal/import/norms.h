// Norms of vectors.
#pragma once

#include <cstdint>
#include <vector>

#include "export/graph/graph_builder.h"

namespace belfry::internal {

// (sum |x|^order)^(1 / order) over the axes; the greatest or least magnitude for an infinite order, and how many are
// not zero for order 0.
GraphValue vector_norm(GraphBuilder& graph, GraphValue x, const std::vector<int64_t>& axes, double order, bool keep);

}  // namespace belfry::internal
