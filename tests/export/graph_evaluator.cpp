#include "graph_evaluator.h"

#include <torch/torch.h>

#include <unordered_map>

#include "core/error.h"
#include "evaluate_operations.h"

namespace belfry::testing {
namespace {

using Inputs = std::vector<at::Tensor>;
using Outputs = std::vector<at::Tensor>;

bool is_between(Operation operation, Operation first, Operation last) {
  return operation >= first && operation <= last;
}

}  // namespace

std::vector<at::Tensor> evaluate_node(const GraphNode& node, const std::vector<at::Tensor>& in) {
  const Operation operation = node.operation;
  if (is_between(operation, Operation::kAbs, Operation::kIsInf)) return {evaluate_unary(operation, in.at(0))};
  if (is_between(operation, Operation::kAdd, Operation::kBitwiseXor)) {
    return {evaluate_binary(operation, in.at(0), in.at(1))};
  }
  if (is_between(operation, Operation::kSum, Operation::kAll)) return {evaluate_reduction(node, in.at(0))};
  if (operation == Operation::kTopK) return evaluate_top_k(node, in.at(0), in.at(1).item<int64_t>());
  if (is_between(operation, Operation::kArgMax, Operation::kLogSoftmax)) return {evaluate_along_axis(node, in.at(0))};
  if (operation == Operation::kSelect) return {at::where(in.at(0), in.at(1), in.at(2))};
  if (operation == Operation::kSplit) {
    return at::split_with_sizes(in.at(0), node.attributes.integers("sizes"), node.attributes.integer("axis"));
  }
  if (is_between(operation, Operation::kSize, Operation::kRange)) return {evaluate_shape(node, in)};
  if (is_between(operation, Operation::kGather, Operation::kOneHot)) return {evaluate_indexing(node, in)};
  if (is_between(operation, Operation::kLstm, Operation::kRnn)) return evaluate_recurrent(node, in);
  return {evaluate_layer(node, in)};
}

namespace {

void check_type(const at::Tensor& tensor, const GraphType& type, const GraphNode& node) {
  bool fits = tensor.scalar_type() == type.dtype && tensor.dim() == type.rank();
  for (int64_t axis = 0; fits && axis < type.rank(); ++axis) {
    fits = type.shape[axis] == kFreeSize || type.shape[axis] == tensor.size(axis);
  }
  if (!fits) {
    fail(ErrorKind::kInternal, "evaluator: ", to_string(node.operation), " gives ",
         to_string(GraphType{tensor.scalar_type(), tensor.sizes().vec()}), " where its type is ", to_string(type));
  }
}

Outputs evaluate_any(const Graph& graph, const GraphNode& node, const Inputs& in, const TensorDict& inputs) {
  switch (node.operation) {
    case Operation::kInput:
      return {inputs.at(node.attributes.text("name")).tensor()};
    case Operation::kVariable:
    case Operation::kConstant:
      return {node.attributes.tensor("value")};
    case Operation::kCast:
      return {in.at(0).to(graph.type(node.outputs[0]).dtype)};
    case Operation::kUnsupported:
      fail(ErrorKind::kUnimplemented, node.attributes.text("name"), ": ", node.attributes.text("reason"));
    default:
      return evaluate_node(node, in);
  }
}

}  // namespace

TensorDict evaluate(const Graph& graph, const TensorDict& inputs) {
  const torch::NoGradGuard no_grad;
  std::unordered_map<int32_t, at::Tensor> values;
  for (const size_t number : graph.live_nodes()) {
    const GraphNode& node = graph.nodes()[number];
    Inputs in;
    for (const GraphValue value : node.inputs) in.push_back(values.at(value.id));
    const Outputs out = evaluate_any(graph, node, in, inputs);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      check_type(out.at(i), graph.type(node.outputs[i]), node);
      values[node.outputs[i].id] = out[i];
    }
  }
  TensorDict outputs;
  for (const GraphOutput& output : graph.outputs()) outputs.set(output.name, values.at(output.value.id));
  return outputs;
}

}  // namespace belfry::testing
