// Linear maps along single axes: pooling and resizing whose windows do not divide the size.
#pragma once

#include <cstdint>

#include "export/graph/graph_builder.h"

namespace belfry::internal {

// x with axis `axis` of size n replaced by matrix [m, n] times it. The matrix is float64.
GraphValue multiply_axis(GraphBuilder& graph, GraphValue x, int64_t axis, const at::Tensor& matrix);

// The size, or kUnimplemented where it varies.
int64_t fixed_size(GraphBuilder& graph, GraphValue x, int64_t axis);

}  // namespace belfry::internal
