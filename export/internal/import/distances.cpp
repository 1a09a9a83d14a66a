// How far vectors are apart.
#include "export/internal/import/import_table.h"
#include "export/internal/import/norms.h"

namespace belfry::internal {
namespace {

// ||x1 - x2 + eps||, over the last axis.
Item pairwise_distance(Call& call) {
  GraphBuilder& graph = call.graph();
  GraphValue apart =
      graph.binary(Operation::kSubtract, call.operand("x1", call.dtype()), call.operand("x2", call.dtype()));
  apart = graph.binary(Operation::kAdd, apart, call.number_or("eps", 1e-6));
  return vector_norm(graph, apart, {graph.rank(apart) - 1}, call.number_or("p", 2), call.flag_or("keepdim", false));
}

// Of every row of x1 to every row of x2.
Item cdist(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue from = graph.unsqueeze(call.operand("x1", call.dtype()), -2);
  const GraphValue to = graph.unsqueeze(call.operand("x2", call.dtype()), -3);
  const GraphValue apart = graph.binary(Operation::kSubtract, from, to);
  return vector_norm(graph, apart, {graph.rank(apart) - 1}, call.number_or("p", 2), false);
}

}  // namespace

void add_distances(ImportTable& table) { table.insert({{"pairwise_distance", pairwise_distance}, {"cdist", cdist}}); }

}  // namespace belfry::internal
