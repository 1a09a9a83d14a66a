// Attention.
#include <cmath>
#include <limits>

#include "export/internal/import/import_table.h"

namespace belfry::internal {
namespace {

// True where a query may look at a key: at its own place and before.
GraphValue causal_mask(GraphBuilder& graph, GraphValue query, GraphValue key) {
  const GraphValue ones = graph.broadcast(graph.scalar(1, at::kFloat), {graph.size(query, -2), graph.size(key, -2)});
  return graph.binary(Operation::kNotEqual, graph.band_part(ones, -1, 0), 0);
}

GraphValue masked(GraphBuilder& graph, GraphValue scores, GraphValue mask) {
  if (graph.type(mask).dtype != at::kBool) return graph.binary(Operation::kAdd, scores, mask);
  const GraphValue never = graph.scalar(-std::numeric_limits<double>::infinity(), graph.type(scores).dtype);
  return graph.select(mask, scores, never);
}

// A query that may look at no key gets zeros, as LibTorch gives, where softmax itself has no numbers.
GraphValue safe_softmax(GraphBuilder& graph, GraphValue scores) {
  const GraphValue greatest = graph.reduce(Operation::kMax, scores, {-1}, true);
  const GraphValue sees_nothing = graph.binary(Operation::kEqual, greatest, -std::numeric_limits<double>::infinity());
  const GraphValue zero = graph.scalar(0, graph.type(scores).dtype);
  return graph.select(sees_nothing, zero, graph.along_axis(Operation::kSoftmax, scores, -1));
}

// softmax(query key^T * scale + mask) value
Item scaled_dot_product(Call& call) {
  if (call.number_or("dropout_p", 0) != 0) refuse_call("it drops out");
  if (call.flag_or("enable_gqa", false)) refuse_call("it groups queries");
  GraphBuilder& graph = call.graph();
  const GraphValue query = call.tensor("query");
  const GraphValue key = call.tensor("key");
  const double scale = call.number_or("scale", 1 / std::sqrt(static_cast<double>(graph.type(query).shape.back())));
  const GraphValue scaled = graph.binary(Operation::kMultiply, query, scale);
  GraphValue scores = graph.matmul(scaled, graph.swap_axes(key, -2, -1));
  if (call.flag_or("is_causal", false)) scores = masked(graph, scores, causal_mask(graph, query, key));
  const bool masks = call.has("attn_mask");  // the causal mask alone leaves each query its own key
  if (masks) scores = masked(graph, scores, call.tensor("attn_mask"));
  const GraphValue weights = masks ? safe_softmax(graph, scores) : graph.along_axis(Operation::kSoftmax, scores, -1);
  return graph.matmul(weights, call.tensor("value"));
}

}  // namespace

void add_attention(ImportTable& table) { table.insert({{"scaled_dot_product_attention", scaled_dot_product}}); }

}  // namespace belfry::internal
