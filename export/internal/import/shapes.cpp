// Views: the same elements in another shape, and parts of a tensor.
#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "export/internal/import/import_table.h"
#include "export/internal/shapes.h"

namespace belfry::internal {
namespace {

Item itself(Call& call) { return call.item(call.has("self") ? "self" : call.has("input") ? "input" : "a"); }

// Devices, layouts and memory formats are no part of a graph.
Item to(Call& call) { return call.graph().cast(call.tensor("self"), call.dtype()); }

Item item_of(const Extent& extent) {
  if (const auto* number = std::get_if<int64_t>(&extent)) return *number;
  return std::get<GraphValue>(extent);
}

Item size(Call& call) { return item_of(call.graph().size(call.tensor("self"), call.integer("dim"))); }

Item element_count(Call& call) {
  Extent count = 1;
  for (const Extent& size : call.graph().sizes(call.tensor("self"))) count = call.graph().product(count, size);
  return item_of(count);
}

Item reshape(Call& call) {
  return call.graph().reshape(call.tensor("self"), call.extents(call.has("size") ? "size" : "shape"));
}

Item reshape_as(Call& call) {
  return call.graph().reshape(call.tensor("self"), call.graph().sizes(call.tensor("other")));
}

Item flatten(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue x = call.tensor("self");
  if (graph.rank(x) == 0) return graph.reshape(x, {Extent(1)});
  const int64_t first = call.axis("start_dim", graph.rank(x));
  const int64_t last = call.axis("end_dim", graph.rank(x));
  Extents shape = graph.sizes(x);
  Extent joined = 1;
  for (int64_t axis = first; axis <= last; ++axis) joined = graph.product(joined, shape[axis]);
  shape.erase(shape.begin() + first, shape.begin() + last + 1);
  shape.insert(shape.begin() + first, joined);
  return graph.reshape(x, shape);
}

Item unflatten(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue x = call.tensor("self");
  const int64_t axis = call.axis("dim", graph.rank(x));
  Extents shape = graph.sizes(x);
  const Extents parts = call.extents("sizes");
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, parts.begin(), parts.end());
  return graph.reshape(x, shape);
}

// Axes of another size stay, as the trace says which.
Item squeeze(Call& call) {
  const GraphValue x = call.tensor("self");
  const GraphType& type = call.graph().type(x);
  std::vector<int64_t> gone;
  for (const int64_t axis : call.axes("dim", type.rank())) {
    if (type.rank() == 0) break;
    if (type.shape[axis] == kFreeSize)
      refuse_call("it drops the axis of the batch from a single row: name another axis");
    if (type.shape[axis] == 1) gone.push_back(axis);
  }
  return call.graph().squeeze(x, gone);
}

Item unsqueeze(Call& call) { return call.graph().unsqueeze(call.tensor("self"), call.integer("dim")); }

Item transpose(Call& call) {
  const bool numbered = call.has("dim0");
  return call.graph().swap_axes(call.tensor("self"), call.integer(numbered ? "dim0" : "axis0"),
                                call.integer(numbered ? "dim1" : "axis1"));
}

Item matrix_transpose(Call& call) {
  const GraphValue x = call.tensor("self");
  return call.graph().rank(x) < 2 ? x : call.graph().swap_axes(x, 0, 1);
}

Item adjoint(Call& call) { return call.graph().swap_axes(call.tensor("self"), -2, -1); }

Item permute(Call& call) { return call.graph().transpose(call.tensor("self"), call.integers("dims")); }

Item move_axes(Call& call) {
  const GraphValue x = call.tensor("self");
  const int64_t rank = call.graph().rank(x);
  const auto from = positive_axes(call.integers("source"), rank);
  const auto to = positive_axes(call.integers("destination"), rank);
  std::vector<int64_t> permutation(rank, -1);
  for (size_t i = 0; i < from.size(); ++i) permutation[to[i]] = from[i];
  int64_t next = 0;
  for (int64_t& axis : permutation) {
    if (axis >= 0) continue;
    while (std::find(from.begin(), from.end(), next) != from.end()) ++next;
    axis = next++;
  }
  return call.graph().transpose(x, permutation);
}

// -1 keeps the size; new axes come in front.
Item expand(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue x = call.tensor("self");
  Extents shape = call.extents("size");
  const size_t added = shape.size() - graph.rank(x);
  for (size_t axis = added; axis < shape.size(); ++axis) {
    const auto* number = std::get_if<int64_t>(&shape[axis]);
    if (number && *number == -1) shape[axis] = graph.size(x, static_cast<int64_t>(axis - added));
  }
  return graph.broadcast(x, shape);
}

Item expand_as(Call& call) {
  return call.graph().broadcast(call.tensor("self"), call.graph().sizes(call.tensor("other")));
}

Item slice(Call& call) {
  const Extent begin = call.has("start") ? call.extent("start") : Extent(0);
  const Extent end = call.has("end") ? call.extent("end") : Extent(std::numeric_limits<int64_t>::max());
  return call.graph().slice(call.tensor("self"), call.integer("dim"), begin, end, call.integer_or("step", 1));
}

// A place on an axis of `x`, which LibTorch counts from the end where it is negative, as one from the start. The place
// behind it could otherwise be 0, the start itself.
Extent from_start(GraphBuilder& graph, GraphValue x, int64_t axis, const Extent& place) {
  const auto* number = std::get_if<int64_t>(&place);
  if (number && *number >= 0) return place;
  const Extent shifted = graph.sum(graph.size(x, axis), place);
  if (number) return shifted;
  const GraphValue computed = std::get<GraphValue>(place);
  return graph.select(graph.binary(Operation::kLess, computed, 0), graph.scalar_of(shifted), computed);
}

Item narrow(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue x = call.tensor("self");
  const Extent begin = from_start(graph, x, call.integer("dim"), call.extent("start"));
  return graph.slice(x, call.integer("dim"), begin, graph.sum(begin, call.extent("length")));
}

// Known negative places need no size: select_index knows where the last one ends.
Item select(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue x = call.tensor("self");
  Extent index = call.extent("index");
  if (std::holds_alternative<GraphValue>(index)) index = from_start(graph, x, call.integer("dim"), index);
  return graph.select_index(x, call.integer("dim"), index);
}

Item diagonal_part(Call& call, bool lower) {
  GraphBuilder& graph = call.graph();
  const GraphValue x = call.tensor("self");
  const int64_t k = call.integer_or("diagonal", 0);
  const GraphValue zero = graph.scalar(0, call.dtype());
  if (lower && k >= 0) return graph.band_part(x, -1, k);
  if (!lower && k <= 0) return graph.band_part(x, -k, -1);
  // What the other side has, taken away: by choice, since infinity minus itself is no zero.
  const GraphValue ones = graph.broadcast(graph.scalar(1, at::kFloat), graph.sizes(x));
  const GraphValue rest = lower ? graph.band_part(ones, -k - 1, -1) : graph.band_part(ones, -1, k - 1);
  return graph.select(graph.binary(Operation::kEqual, rest, 0), x, zero);
}

Item tril(Call& call) { return diagonal_part(call, true); }
Item triu(Call& call) { return diagonal_part(call, false); }

Item flip(Call& call) { return call.graph().reverse(call.tensor("self"), call.integers("dims")); }

Item flip_columns(Call& call) { return call.graph().reverse(call.tensor("self"), {1}); }
Item flip_rows(Call& call) { return call.graph().reverse(call.tensor("self"), {0}); }

// Channels of each group in turn.
Item channel_shuffle(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue x = call.tensor("self");
  const int64_t groups = call.integer("groups");
  const Extents shape = graph.sizes(x);
  Extents apart = shape;
  apart[1] = graph.type(x).shape[1] / groups;
  apart.insert(apart.begin() + 1, groups);
  return graph.reshape(graph.swap_axes(graph.reshape(x, apart), 1, 2), shape);
}

GraphValue rolled(GraphBuilder& graph, GraphValue x, int64_t shift, int64_t axis) {
  const int64_t size = graph.type(x).shape[axis];
  if (size == kFreeSize) refuse_call("it rolls an axis that varies from request to request");
  const int64_t split = ((-shift % size) + size) % size;
  if (split == 0) return x;
  const auto parts = graph.split(x, {split, size - split}, axis);
  return graph.concatenate({parts[1], parts[0]}, axis);
}

Item roll(Call& call) {
  GraphValue x = call.tensor("self");
  const auto shifts = call.integers("shifts");
  const auto axes = call.has("dims") ? call.integers("dims") : std::vector<int64_t>();
  if (axes.empty()) refuse_call("it rolls the flattened tensor");
  for (size_t i = 0; i < axes.size(); ++i) {
    x = rolled(call.graph(), x, shifts[i], positive_axis(axes[i], call.graph().rank(x)));
  }
  return x;
}

}  // namespace

void add_shapes(ImportTable& table) {
  for (const char* name :
       {"contiguous", "detach", "clone", "alias", "dropout", "feature_dropout", "alpha_dropout",
        "feature_alpha_dropout", "lift_fresh", "NumToTensor", "positive", "resolve_conj", "resolve_neg"}) {
    table.insert({name, itself});
  }
  table.insert({{"to", to},
                {"_to_copy", to},
                {"type_as", to},
                {"size", size},
                {"numel", element_count},
                {"view", reshape},
                {"_unsafe_view", reshape},
                {"reshape", reshape},
                {"view_as", reshape_as},
                {"reshape_as", reshape_as},
                {"flatten", flatten},
                {"unflatten", unflatten},
                {"squeeze", squeeze},
                {"unsqueeze", unsqueeze},
                {"transpose", transpose},
                {"swapaxes", transpose},
                {"swapdims", transpose},
                {"t", matrix_transpose},
                {"mT", adjoint},
                {"permute", permute},
                {"movedim", move_axes},
                {"moveaxis", move_axes},
                {"expand", expand},
                {"broadcast_to", expand},
                {"expand_as", expand_as},
                {"slice", slice},
                {"narrow", narrow},
                {"select", select},
                {"tril", tril},
                {"triu", triu},
                {"flip", flip},
                {"fliplr", flip_columns},
                {"flipud", flip_rows},
                {"channel_shuffle", channel_shuffle},
                {"roll", roll}});
}

}  // namespace belfry::internal
