// Values in order.
#include "export/internal/import/import_table.h"

namespace belfry::internal {
namespace {

std::vector<GraphValue> both(const std::pair<GraphValue, GraphValue>& ordered) {
  return {ordered.first, ordered.second};
}

Item top_k(Call& call) {
  return both(call.graph().top_k(call.tensor("self"), call.extent("k"), call.integer_or("dim", -1),
                                 call.flag_or("largest", true)));
}

std::pair<GraphValue, GraphValue> ordered(Call& call) {
  const GraphValue x = call.tensor("self");
  const int64_t axis = call.has("dim") ? call.integer("dim") : -1;
  return call.graph().top_k(x, call.graph().size(x, axis), axis, call.flag_or("descending", false));
}

Item sort(Call& call) { return both(ordered(call)); }
Item argsort(Call& call) { return ordered(call).second; }

// How many of the ascending boundaries are below x, or not above it. NaN is above all.
Item place_among(Call& call, GraphValue boundaries) {
  GraphBuilder& graph = call.graph();
  if (graph.rank(boundaries) != 1) refuse_call("its boundaries have rank ", graph.rank(boundaries));
  if (call.has("sorter")) refuse_call("it has a sorter");
  const bool right = call.flag_or("right", false) || call.text_or("side", "left") == "right";
  const GraphValue x = call.tensor("self");
  const c10::ScalarType dtype = c10::promoteTypes(graph.type(x).dtype, graph.type(boundaries).dtype);
  const GraphValue reached = graph.binary(right ? Operation::kLess : Operation::kLessEqual,
                                          graph.unsqueeze(graph.cast(x, dtype), -1), graph.cast(boundaries, dtype));
  const GraphValue passed = graph.cast(graph.unary(Operation::kLogicalNot, reached), at::kLong);
  return graph.cast(graph.reduce(Operation::kSum, passed, {graph.rank(passed) - 1}), call.dtype());
}

Item bucketize(Call& call) { return place_among(call, call.tensor("boundaries")); }
Item search_sorted(Call& call) { return place_among(call, call.tensor("sorted_sequence")); }

}  // namespace

void add_sorting(ImportTable& table) {
  table.insert({{"topk", top_k},
                {"sort", sort},
                {"argsort", argsort},
                {"bucketize", bucketize},
                {"searchsorted", search_sorted}});
}

}  // namespace belfry::internal
