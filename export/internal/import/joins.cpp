// Tensors joined, taken apart and repeated.
#include <ATen/ATen.h>

#include <algorithm>

#include "export/internal/import/import_table.h"
#include "export/internal/shapes.h"

namespace belfry::internal {
namespace {

std::vector<GraphValue> cast_all(Call& call, const std::vector<GraphValue>& values) {
  std::vector<GraphValue> result;
  for (const GraphValue value : values) result.push_back(call.graph().cast(value, call.dtype()));
  return result;
}

// LibTorch passes over empty vectors, whatever the rank of the others.
Item concatenate(Call& call) {
  std::vector<GraphValue> kept;
  for (const GraphValue value : call.tensors("tensors")) {
    if (call.graph().type(value).shape != std::vector<int64_t>{0}) kept.push_back(value);
  }
  return call.graph().concatenate(cast_all(call, kept), call.integer("dim"));
}

// Scalars become vectors of one; hstack joins along the second axis, or the only one.
Item side_by_side(Call& call) {
  GraphBuilder& graph = call.graph();
  std::vector<GraphValue> values = cast_all(call, call.tensors("tensors"));
  for (GraphValue& value : values) {
    if (graph.rank(value) == 0) value = graph.unsqueeze(value, 0);
  }
  return graph.concatenate(values, graph.rank(values.at(0)) > 1 ? 1 : 0);
}

// Vectors become rows, or columns.
Item rows_or_columns(Call& call, int64_t axis) {
  GraphBuilder& graph = call.graph();
  std::vector<GraphValue> values = cast_all(call, call.tensors("tensors"));
  for (GraphValue& value : values) {
    if (graph.rank(value) == 0) value = graph.unsqueeze(value, 0);
    if (graph.rank(value) == 1) value = graph.unsqueeze(value, axis);
  }
  return graph.concatenate(values, axis);
}

Item row_stack(Call& call) { return rows_or_columns(call, 0); }
Item column_stack(Call& call) { return rows_or_columns(call, 1); }

Item stack(Call& call) { return call.graph().stack(cast_all(call, call.tensors("tensors")), call.integer("dim")); }

int64_t known_size(Call& call, GraphValue x, int64_t axis) {
  const int64_t size = call.graph().type(x).shape.at(axis);
  if (size == kFreeSize) refuse_call("it takes the batch apart");
  return size;
}

// Pieces of `size`, the last one smaller.
std::vector<int64_t> piece_sizes(int64_t whole, int64_t size) {
  std::vector<int64_t> sizes;
  for (int64_t at = 0; at < whole; at += size) sizes.push_back(std::min(size, whole - at));
  return sizes;
}

Item split(Call& call) {
  const GraphValue x = call.tensor("self");
  const int64_t axis = call.axis("dim", call.graph().rank(x));
  const char* sizes = call.has("split_sizes") ? "split_sizes" : "split_size";
  if (call.item(sizes).get<Item::List>()) return call.graph().split(x, call.integers(sizes), axis);
  return call.graph().split(x, piece_sizes(known_size(call, x, axis), call.integer(sizes)), axis);
}

Item chunk(Call& call) {
  const GraphValue x = call.tensor("self");
  const int64_t axis = call.axis("dim", call.graph().rank(x));
  const int64_t whole = known_size(call, x, axis);
  const int64_t chunks = call.integer("chunks");
  return call.graph().split(x, piece_sizes(whole, (whole + chunks - 1) / chunks), axis);
}

// So many pieces, of which the first ones are greater by one, or pieces that end at the given places.
Item tensor_split(Call& call) {
  const GraphValue x = call.tensor("self");
  const int64_t axis = call.axis("dim", call.graph().rank(x));
  const int64_t whole = known_size(call, x, axis);
  std::vector<int64_t> sizes;
  if (call.has("sections")) {
    const int64_t sections = call.integer("sections");
    for (int64_t i = 0; i < sections; ++i) sizes.push_back(whole / sections + (i < whole % sections ? 1 : 0));
  } else {
    std::vector<int64_t> ends = call.integers("indices");
    ends.push_back(whole);
    for (size_t i = 0; i < ends.size(); ++i) sizes.push_back(ends[i] - (i > 0 ? ends[i - 1] : 0));
  }
  if (*std::min_element(sizes.begin(), sizes.end()) < 1) refuse_call("it has pieces without elements");
  return call.graph().split(x, sizes, axis);
}

Item unbind(Call& call) {
  const GraphValue x = call.tensor("self");
  const int64_t axis = call.axis("dim", call.graph().rank(x));
  std::vector<GraphValue> parts;
  for (int64_t i = 0; i < known_size(call, x, axis); ++i) parts.push_back(call.graph().select_index(x, axis, i));
  return parts;
}

Item broadcast_tensors(Call& call) {
  GraphBuilder& graph = call.graph();
  const std::vector<GraphValue> values = call.tensors("tensors");
  std::vector<int64_t> known;
  for (const GraphValue value : values) known = broadcast_shapes(known, graph.type(value).shape);
  const int64_t rank = static_cast<int64_t>(known.size());
  Extents shape(known.begin(), known.end());
  for (const GraphValue value : values) {  // a free size is that of a tensor that has it
    for (int64_t axis = 0; axis < graph.rank(value); ++axis) {
      const int64_t at = rank - graph.rank(value) + axis;
      if (known[at] == kFreeSize && graph.type(value).shape[axis] == kFreeSize) shape[at] = graph.size(value, axis);
    }
  }
  std::vector<GraphValue> result;
  for (const GraphValue value : values) result.push_back(graph.broadcast(value, shape));
  return result;
}

// As often as the batch says: by a new axis in front of `axis`, which then becomes part of it.
GraphValue repeat_axis(GraphBuilder& graph, GraphValue x, int64_t axis, const Extent& times) {
  Extents shape = graph.sizes(x);
  Extents apart = shape;
  apart.insert(apart.begin() + axis, times);
  shape[axis] = graph.product(shape[axis], times);
  return graph.reshape(graph.broadcast(graph.unsqueeze(x, axis), apart), shape);
}

Item repeat(Call& call) {
  GraphBuilder& graph = call.graph();
  GraphValue x = call.tensor("self");
  Extents repeats = call.extents(call.has("repeats") ? "repeats" : "dims");
  while (static_cast<int64_t>(repeats.size()) < graph.rank(x)) repeats.insert(repeats.begin(), 1);  // of tile
  while (graph.rank(x) < static_cast<int64_t>(repeats.size())) x = graph.unsqueeze(x, 0);
  std::vector<int64_t> known;
  for (size_t axis = 0; axis < repeats.size(); ++axis) {
    const auto* number = std::get_if<int64_t>(&repeats[axis]);
    known.push_back(number ? *number : 1);
    if (!number) x = repeat_axis(graph, x, static_cast<int64_t>(axis), repeats[axis]);
  }
  return graph.tile(x, known);
}

// Each element `repeats` times in a row.
Item repeat_interleave(Call& call) {
  GraphBuilder& graph = call.graph();
  GraphValue x = call.tensor("self");
  if (!call.has("dim")) x = graph.reshape(x, {Extent(-1)});
  const int64_t axis = call.has("dim") ? call.axis("dim", graph.rank(x)) : 0;
  const int64_t times = call.integer("repeats");
  Extents shape = graph.sizes(x);
  shape[axis] = graph.product(shape[axis], times);
  std::vector<int64_t> repeats(graph.rank(x) + 1, 1);
  repeats[axis + 1] = times;
  return graph.reshape(graph.tile(graph.unsqueeze(x, axis + 1), repeats), shape);
}

}  // namespace

void add_joins(ImportTable& table) {
  table.insert({{"cat", concatenate},
                {"concat", concatenate},
                {"concatenate", concatenate},
                {"stack", stack},
                {"hstack", side_by_side},
                {"vstack", row_stack},
                {"row_stack", row_stack},
                {"column_stack", column_stack},
                {"split", split},
                {"split_with_sizes", split},
                {"unsafe_split", split},
                {"unsafe_split_with_sizes", split},
                {"chunk", chunk},
                {"unsafe_chunk", chunk},
                {"unbind", unbind},
                {"tensor_split", tensor_split},
                {"broadcast_tensors", broadcast_tensors},
                {"repeat", repeat},
                {"tile", repeat},
                {"repeat_interleave", repeat_interleave}});
}

}  // namespace belfry::internal
