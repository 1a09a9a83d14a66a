// Rows and elements by number, by place and by mask.
#include <ATen/ATen.h>

#include <algorithm>

#include "export/internal/import/import_table.h"

namespace belfry::internal {
namespace {

// Formats count from the start alone.
GraphValue from_start(GraphBuilder& graph, GraphValue given, const Extent& size) {
  const at::Tensor* known = graph.graph().literal(given);
  if (known && known->numel() > 0 && known->min().item<int64_t>() >= 0) return graph.cast(given, at::kLong);
  if (known && known->numel() == 0) return graph.cast(given, at::kLong);
  const GraphValue indices = graph.cast(given, at::kLong);
  const GraphValue shifted = graph.binary(Operation::kAdd, indices, graph.scalar_of(size));
  return graph.select(graph.binary(Operation::kLess, indices, 0), shifted, indices);
}

Item gather(Call& call) {
  const GraphValue x = call.tensor("self");
  const GraphValue index = call.operand("index", at::kLong);
  if (call.graph().rank(x) == 0 || call.graph().rank(index) == 0) refuse_call("it gathers from or by a scalar");
  return call.graph().gather_elements(x, index, call.integer("dim"));
}

Item take_along_dim(Call& call) {
  if (!call.has("dim")) refuse_call("it takes from the flattened tensor");
  GraphBuilder& graph = call.graph();
  const GraphValue x = call.tensor("self");
  const int64_t axis = call.axis("dim", graph.rank(x));
  const GraphValue indices = from_start(graph, call.tensor("indices"), graph.size(x, axis));
  return graph.gather_elements(x, indices, axis);
}

Item index_select(Call& call) {
  return call.graph().gather(call.tensor("self"), call.operand("index", at::kLong), call.integer("dim"));
}

Item embedding(Call& call) { return call.graph().gather(call.tensor("weight"), call.operand("indices", at::kLong), 0); }

Item one_hot(Call& call) {
  const int64_t classes = call.integer_or("num_classes", -1);
  if (classes < 0) refuse_call("the number of classes hangs on the data: give num_classes");
  return call.graph().one_hot(call.tensor("self"), classes);
}

GraphValue scattered(Call& call, bool add) {
  GraphBuilder& graph = call.graph();
  const GraphValue index = call.operand("index", at::kLong);
  const GraphValue updates =
      call.has("src") ? call.tensor("src") : graph.broadcast(call.operand("value", call.dtype()), graph.sizes(index));
  if (graph.type(updates).shape != graph.type(index).shape) refuse_call("its source is larger than its index");
  return graph.scatter_elements(call.tensor("self"), index, updates, call.integer("dim"), add);
}

Item scatter(Call& call) {
  const std::string reduce = call.text_or("reduce", "");
  if (!reduce.empty() && reduce != "add") refuse_call("it reduces");
  return scattered(call, reduce == "add");
}

Item scatter_add(Call& call) { return scattered(call, true); }

// Whole rows of one axis: its numbers stand for all elements of a row.
Item index_add(Call& call) {
  GraphBuilder& graph = call.graph();
  GraphValue source = call.tensor("source");
  if (graph.rank(source) == 0) refuse_call("it adds a scalar");
  const int64_t axis = call.axis("dim", graph.rank(source));
  Extents shape(graph.rank(source), Extent(1));
  shape[axis] = graph.size(source, axis);
  const GraphValue rows = graph.reshape(call.operand("index", at::kLong), shape);
  const GraphValue index = graph.broadcast(rows, graph.sizes(source));
  if (call.number_or("alpha", 1) != 1) {
    source = graph.binary(Operation::kMultiply, source, call.operand("alpha", call.dtype()));
  }
  return graph.scatter_elements(call.tensor("self"), index, source, axis, true);
}

// Rows where the mask is set.
GraphValue masked(GraphBuilder& graph, GraphValue x, GraphValue mask) {
  return graph.gather_nd(x, graph.non_zero(mask));
}

Item masked_select(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue x = call.tensor("self");
  const GraphValue mask = call.tensor("mask");
  if (graph.type(x).shape != graph.type(mask).shape) refuse_call("its mask is broadcast");
  return masked(graph, x, mask);
}

// The axes with an index come first in the gathered tensor; they return to their place when they lie together.
GraphValue gather_several(GraphBuilder& graph, GraphValue x, const std::vector<int64_t>& axes, GraphValue places) {
  std::vector<int64_t> order = axes;
  for (int64_t axis = 0; axis < graph.rank(x); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) order.push_back(axis);
  }
  const GraphValue gathered = graph.gather_nd(graph.transpose(x, order), places);
  const bool together = axes.back() - axes.front() + 1 == static_cast<int64_t>(axes.size());
  if (!together || axes.front() == 0) return gathered;
  const int64_t inserted = graph.rank(places) - 1;
  std::vector<int64_t> back;
  for (int64_t axis = 0; axis < axes.front(); ++axis) back.push_back(inserted + axis);
  for (int64_t axis = 0; axis < inserted; ++axis) back.push_back(axis);
  for (int64_t axis = inserted + axes.front(); axis < graph.rank(gathered); ++axis) back.push_back(axis);
  return graph.transpose(gathered, back);
}

// Indices of one shape, side by side on a new last axis.
GraphValue places_of(GraphBuilder& graph, const std::vector<GraphValue>& indices) {
  GraphValue sum = indices[0];
  for (size_t i = 1; i < indices.size(); ++i) sum = graph.binary(Operation::kAdd, sum, indices[i]);
  const GraphValue zeros = graph.binary(Operation::kMultiply, sum, 0);  // of the common shape
  std::vector<GraphValue> alike;
  for (const GraphValue index : indices) alike.push_back(graph.binary(Operation::kAdd, index, zeros));
  return graph.stack(alike, graph.rank(zeros));
}

// x[i, :, j] and the like: none stands for a whole axis.
Item index(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue x = call.tensor("self");
  const std::vector<GraphValue> given = call.optional_tensors("indices");
  std::vector<int64_t> axes;
  std::vector<GraphValue> indices;
  for (size_t axis = 0; axis < given.size(); ++axis) {
    if (!given[axis].defined()) continue;
    const c10::ScalarType dtype = graph.type(given[axis]).dtype;
    if (dtype == at::kBool || dtype == at::kByte) {
      if (given.size() > 1) refuse_call("it mixes a mask with other indices");
      return masked(graph, x, graph.cast(given[axis], at::kBool));
    }
    axes.push_back(static_cast<int64_t>(axis));
    indices.push_back(from_start(graph, given[axis], graph.size(x, axes.back())));
  }
  if (axes.empty()) return x;
  if (axes.size() == 1) return graph.gather(x, indices[0], axes[0]);
  return gather_several(graph, x, axes, places_of(graph, indices));
}

// One value where a mask is set; the mask may lack the last axes.
Item index_put(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue x = call.tensor("self");
  const std::vector<GraphValue> given = call.optional_tensors("indices");
  if (given.size() != 1 || !given[0].defined() || graph.type(given[0]).dtype != at::kBool) {
    refuse_call("it writes by other indices than one mask");
  }
  const GraphValue value = call.operand("values", call.dtype());
  if (graph.rank(value) > 0) refuse_call("it writes more than one value");
  if (call.flag_or("accumulate", false)) refuse_call("it adds to what is there");
  GraphValue mask = given[0];
  while (graph.rank(mask) < graph.rank(x)) mask = graph.unsqueeze(mask, graph.rank(mask));
  return graph.select(mask, value, x);
}

}  // namespace

void add_indexing(ImportTable& table) {
  table.insert({{"gather", gather},
                {"take_along_dim", take_along_dim},
                {"index_select", index_select},
                {"embedding", embedding},
                {"one_hot", one_hot},
                {"scatter", scatter},
                {"scatter_add", scatter_add},
                {"index_add", index_add},
                {"masked_select", masked_select},
                {"index", index},
                {"index_put", index_put}});
}

}  // namespace belfry::internal
