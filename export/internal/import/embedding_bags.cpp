// Sums, means and maxima of embedded words.
#include <ATen/ATen.h>

#include <limits>

#include "export/internal/import/import_table.h"

namespace belfry::internal {
namespace {

// Bags of one length: the trace has bags as begin = arange(0, bags * length, length).
int64_t bag_length(Call& call) {
  const GraphNode& offsets = call.graph().graph().producer(call.tensor("offsets"));
  if (offsets.operation != Operation::kRange) refuse_call("its bags have lengths of their own");
  const at::Tensor* start = call.graph().graph().literal(offsets.inputs[0]);
  if (!start || start->item<int64_t>() != 0) refuse_call("its bags have lengths of their own");
  const at::Tensor* length = call.graph().graph().literal(offsets.inputs[2]);
  if (!length) refuse_call("the length of its bags varies from request to request");
  return length->item<int64_t>();
}

// Which words of the bags [bags, length, 1] count: all but the one of the padding index. Undefined for all.
GraphValue counted_words(Call& call, GraphValue ids, int64_t length) {
  GraphBuilder& graph = call.graph();
  if (!call.has("padding_idx") || call.integer("padding_idx") < 0) return {};
  const GraphValue counted = graph.binary(Operation::kNotEqual, ids, call.integer("padding_idx"));
  return graph.reshape(counted, {-1, length, 1});
}

// Of bags [bags, length, width]. Of a bag of padding alone the mean and the greatest are zero.
GraphValue reduce_bags(GraphBuilder& graph, GraphValue bags, GraphValue counted, int64_t mode) {
  const bool is_mean = mode == 1;
  const c10::ScalarType dtype = graph.type(bags).dtype;
  const Operation operation = mode == 0 ? Operation::kSum : is_mean ? Operation::kMean : Operation::kMax;
  if (!counted.defined()) return graph.reduce(operation, bags, {1});
  if (operation == Operation::kMax) {
    const GraphValue never = graph.scalar(-std::numeric_limits<double>::infinity(), dtype);
    const GraphValue greatest = graph.reduce(operation, graph.select(counted, bags, never), {1});
    const GraphValue is_empty = graph.unary(Operation::kLogicalNot, graph.reduce(Operation::kAny, counted, {1}));
    return graph.select(is_empty, graph.scalar(0, dtype), greatest);
  }
  const GraphValue zero = graph.scalar(0, dtype);
  const GraphValue sum = graph.reduce(Operation::kSum, graph.select(counted, bags, zero), {1});
  if (!is_mean) return sum;
  const GraphValue count = graph.reduce(Operation::kSum, graph.cast(counted, dtype), {1});
  return graph.binary(Operation::kDivide, sum, graph.binary(Operation::kMaximum, count, 1));
}

Item embedding_bag(Call& call) {
  GraphBuilder& graph = call.graph();
  if (call.flag_or("include_last_offset", false)) refuse_call("its offsets include the last one");
  const GraphValue weight = call.tensor("weight");
  const GraphValue ids = call.operand("indices", at::kLong);
  const int64_t length = bag_length(call);
  GraphValue rows = graph.gather(weight, ids, 0);
  if (call.has("per_sample_weights")) {
    rows = graph.binary(Operation::kMultiply, rows, graph.unsqueeze(call.tensor("per_sample_weights"), 1));
  }
  const GraphValue bags = graph.reshape(rows, {-1, length, graph.size(weight, 1)});
  const GraphValue result = reduce_bags(graph, bags, counted_words(call, ids, length), call.integer_or("mode", 0));
  for (size_t output = 1; output < 4; ++output) {
    if (call.is_used(output)) refuse_call("more than its first output is used");
  }
  return Item::List{result, {}, {}, {}};
}

}  // namespace

void add_embedding_bags(ImportTable& table) { table.insert({{"embedding_bag", embedding_bag}}); }

}  // namespace belfry::internal
