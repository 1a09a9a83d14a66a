// Parts of a tensor that overlap, and differences of neighbors.
#include <ATen/ATen.h>

#include <limits>

#include "export/internal/import/import_table.h"

namespace belfry::internal {
namespace {

// [count, size]: where the elements of each window lie, `step` from window to window.
at::Tensor window_places(int64_t count, int64_t size, int64_t step, int64_t dilation = 1) {
  return at::arange(count, at::kLong).unsqueeze(1) * step + at::arange(size, at::kLong) * dilation;
}

int64_t known_size(Call& call, GraphValue x, int64_t axis) {
  const int64_t size = call.graph().type(x).shape.at(axis);
  if (size == kFreeSize) refuse_call("it takes an axis that varies from request to request apart");
  return size;
}

// The axis becomes [windows], and [size] comes last.
Item unfold(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue x = call.tensor("self");
  const int64_t axis = call.axis("dimension", graph.rank(x));
  const int64_t size = call.integer("size");
  const int64_t count = (known_size(call, x, axis) - size) / call.integer("step") + 1;
  const at::Tensor places = window_places(count, size, call.integer("step"));
  const GraphValue gathered = graph.gather(x, graph.constant(places), axis);
  std::vector<int64_t> order;
  for (int64_t i = 0; i < graph.rank(gathered); ++i) {
    if (i != axis + 1) order.push_back(i);
  }
  order.push_back(axis + 1);
  return graph.transpose(gathered, order);
}

// Images [batch, channels, height, width] to [batch, channels * kernel, places].
Item image_to_columns(Call& call) {
  GraphBuilder& graph = call.graph();
  GraphValue x = call.tensor("self");
  if (graph.rank(x) != 4) refuse_call("its image has rank ", graph.rank(x));
  const auto kernel = call.integers("kernel_size", 2, {});
  const auto strides = call.integers("stride", 2, {1, 1});
  const auto dilation = call.integers("dilation", 2, {1, 1});
  const auto padding = call.integers("padding", 2, {0, 0});
  x = graph.pad(x, {0, 0, padding[0], padding[1]}, {0, 0, padding[0], padding[1]});
  int64_t all_places = 1;
  for (const int64_t i : {0, 1}) {  // height, then width, which is two axes further by then
    const int64_t axis = 2 + 2 * i;
    const int64_t count = (known_size(call, x, axis) - dilation[i] * (kernel[i] - 1) - 1) / strides[i] + 1;
    x = graph.gather(x, graph.constant(window_places(count, kernel[i], strides[i], dilation[i])), axis);
    all_places *= count;
  }
  x = graph.transpose(x, {0, 1, 3, 5, 2, 4});
  return graph.reshape(x, {Extent(-1), graph.type(x).shape[1] * kernel[0] * kernel[1], all_places});
}

// Each element less the one before it.
GraphValue difference(GraphBuilder& graph, GraphValue x, int64_t axis) {
  const GraphValue later = graph.slice(x, axis, 1, std::numeric_limits<int64_t>::max());
  const GraphValue earlier = graph.slice(x, axis, 0, -1);
  return graph.binary(graph.type(x).dtype == at::kBool ? Operation::kLogicalXor : Operation::kSubtract, later, earlier);
}

Item diff(Call& call) {
  GraphBuilder& graph = call.graph();
  std::vector<GraphValue> parts;
  for (const char* name : {"prepend", "self", "append"}) {
    if (call.has(name)) parts.push_back(call.operand(name, call.dtype()));
  }
  GraphValue x = graph.concatenate(parts, call.integer_or("dim", -1));
  const int64_t axis = call.has("dim") ? call.axis("dim", graph.rank(x)) : graph.rank(x) - 1;
  for (int64_t i = 0; i < call.integer_or("n", 1); ++i) x = difference(graph, x, axis);
  return x;
}

}  // namespace

void add_windows(ImportTable& table) {
  table.insert({{"unfold", unfold}, {"im2col", image_to_columns}, {"diff", diff}});
}

}  // namespace belfry::internal
