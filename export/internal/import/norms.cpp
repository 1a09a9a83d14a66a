#include "export/internal/import/norms.h"

#include <cmath>

namespace belfry::internal {

GraphValue vector_norm(GraphBuilder& graph, GraphValue x, const std::vector<int64_t>& axes, double order, bool keep) {
  if (order == 0) {
    const GraphValue not_zero = graph.cast(graph.binary(Operation::kNotEqual, x, 0), graph.type(x).dtype);
    return graph.reduce(Operation::kSum, not_zero, axes, keep);
  }
  if (order == 2) {
    const GraphValue squares = graph.unary(Operation::kSquare, x);
    return graph.unary(Operation::kSqrt, graph.reduce(Operation::kSum, squares, axes, keep));
  }
  const GraphValue magnitudes = graph.unary(Operation::kAbs, x);
  if (order == 1) return graph.reduce(Operation::kSum, magnitudes, axes, keep);
  if (std::isinf(order)) return graph.reduce(order > 0 ? Operation::kMax : Operation::kMin, magnitudes, axes, keep);
  const GraphValue powers = graph.binary(Operation::kPower, magnitudes, order);
  return graph.binary(Operation::kPower, graph.reduce(Operation::kSum, powers, axes, keep), 1 / order);
}

}  // namespace belfry::internal
