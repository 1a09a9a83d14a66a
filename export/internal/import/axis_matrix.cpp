#include "export/internal/import/axis_matrix.h"

#include <ATen/ATen.h>

#include "core/error.h"

namespace belfry::internal {

GraphValue multiply_axis(GraphBuilder& graph, GraphValue x, int64_t axis, const at::Tensor& matrix) {
  const GraphValue transposed = graph.constant(matrix.t().to(graph.type(x).dtype));
  const GraphValue last = graph.swap_axes(x, axis, -1);
  return graph.swap_axes(graph.matmul(last, transposed), axis, -1);
}

int64_t fixed_size(GraphBuilder& graph, GraphValue x, int64_t axis) {
  const int64_t size = graph.type(x).shape.at(axis);
  if (size == kFreeSize)
    fail(ErrorKind::kUnimplemented, "axis ", axis, " of its operand varies from request to request");
  return size;
}

}  // namespace belfry::internal
