// Recurrent layers, one in one direction each.
#include <ATen/ATen.h>

#include "export/internal/onnx/kernel_dtype.h"
#include "export/internal/onnx/lowering.h"

namespace belfry::internal::onnx {
namespace {

struct Cell {
  const char* name;
  // Which of LibTorch's gates stand where ONNX has its: i, o, f, c of i, f, g, o; z, r, h of r, z, n.
  std::vector<int64_t> gates;
};

const Cell& cell_of(Operation operation) {
  static const Cell lstm{"LSTM", {0, 3, 1, 2}};
  static const Cell gru{"GRU", {1, 0, 2}};
  static const Cell rnn{"RNN", {0}};
  return operation == Operation::kLstm ? lstm : operation == Operation::kGru ? gru : rnn;
}

// Where the weights stand among the inputs: behind x, h and, of an LSTM, c.
size_t first_weight(const GraphNode& node) { return node.operation == Operation::kLstm ? 3 : 2; }

// A weight or bias of all gates, in ONNX's order.
Tensor reordered(Lowering& lowering, const GraphNode& node, size_t i, c10::ScalarType dtype) {
  const auto& order = cell_of(node.operation).gates;
  const auto count = static_cast<int64_t>(order.size());
  if (const at::Tensor* known = lowering.literal(node, i)) {
    const auto parts = known->to(dtype).chunk(count);
    std::vector<at::Tensor> sorted;
    for (const int64_t gate : order) sorted.push_back(parts.at(gate));
    return lowering.derived(node, i, at::cat(sorted).unsqueeze(0));
  }
  OnnxBuilder& out = lowering.out();
  const std::vector<int64_t> sizes(count, lowering.type(node, i).shape.at(0) / count);
  const auto parts = out.split(lowering.input(node, i, dtype), sizes, 0);
  std::vector<Tensor> sorted;
  for (const int64_t gate : order) sorted.push_back(parts.at(gate));
  return out.unsqueeze(out.concatenate(sorted, 0), {0});
}

Tensor biases(Lowering& lowering, const GraphNode& node, c10::ScalarType dtype) {
  const size_t first = first_weight(node) + 2;
  if (!lowering.has_input(node, first + 1)) return {};
  const Tensor of_input = reordered(lowering, node, first, dtype);
  return lowering.out().concatenate({of_input, reordered(lowering, node, first + 1, dtype)}, 1);
}

// [1, batch, n] of [batch, n]: ONNX counts directions.
Tensor state(Lowering& lowering, const GraphNode& node, size_t i, c10::ScalarType dtype) {
  return lowering.out().unsqueeze(lowering.input(node, i, dtype), {0});
}

void lower_recurrent(Lowering& lowering, const GraphNode& node) {
  OnnxBuilder& out = lowering.out();
  const Cell& cell = cell_of(node.operation);
  const bool lstm = node.operation == Operation::kLstm;
  const c10::ScalarType dtype = kernel_dtype(cell.name, lowering.result_type(node).dtype);
  const Tensor all_steps;
  std::vector<Tensor> inputs{lowering.input(node, 0, dtype),
                             reordered(lowering, node, first_weight(node), dtype),
                             reordered(lowering, node, first_weight(node) + 1, dtype),
                             biases(lowering, node, dtype),
                             all_steps,
                             state(lowering, node, 1, dtype)};
  if (lstm) inputs.push_back(state(lowering, node, 2, dtype));
  Node layer = out.node(cell.name, inputs, lstm ? 3 : 1);
  layer.text("direction", node.attributes.flag("reverse") ? "reverse" : "forward");
  layer.integer("hidden_size", lowering.result_type(node).shape.back());
  if (node.operation == Operation::kGru) layer.integer("linear_before_reset", 1);
  if (node.operation == Operation::kRnn) {
    layer.texts("activations", {node.attributes.text("nonlinearity") == "relu" ? "Relu" : "Tanh"});
  }
  lowering.set(node, out.squeeze(layer.output(dtype), {1}));
  constexpr int kLastCell = 2;
  if (lstm) lowering.set(node, out.squeeze(layer.output(dtype, kLastCell), {0}), 1);
}

}  // namespace

void add_recurrent_lowerings(LoweringTable& table) {
  table[Operation::kLstm] = lower_recurrent;
  table[Operation::kGru] = lower_recurrent;
  table[Operation::kRnn] = lower_recurrent;
}

}  // namespace belfry::internal::onnx
