// Recurrent layers. An LSTM is one operation; TensorFlow has none with the mathematics of LibTorch's GRU and RNN, whose
// steps are written one by one, or as a loop.
#include <ATen/ATen.h>

#include <algorithm>

#include "core/error.h"
#include "export/internal/tensorflow/lowering.h"
#include "export/internal/tensorflow/recurrent_cell.h"
#include "export/internal/tensorflow/recurrent_loop.h"

namespace belfry::internal {
namespace {

constexpr int64_t kMostUnrolled = 32;  // steps; more of them, or any number, are a loop

// Where the weights stand among the inputs: behind x, h and, of an LSTM, c.
size_t first_weight(const GraphNode& node) { return node.operation == Operation::kLstm ? 3 : 2; }
bool has_biases(const GraphNode& node) { return node.inputs.size() > first_weight(node) + 2; }

RecurrentLayer layer_of(Lowering& lowering, const GraphNode& node) {
  GraphDefBuilder& out = lowering.out();
  const size_t weight = first_weight(node);
  RecurrentLayer layer{node,
                       recurrent_product(out, lowering.input(node, 0), lowering.input(node, weight), true),
                       {.of_state = lowering.input(node, weight + 1), .axis = out.int32(1)},
                       {lowering.input(node, 1)},
                       node.attributes.flag("reverse")};
  if (node.operation == Operation::kLstm) layer.first.cell = lowering.input(node, 2);
  if (has_biases(node)) {
    layer.gates = out.bias_add(layer.gates, lowering.input(node, weight + 2));
    layer.weights.bias = lowering.input(node, weight + 3);
  }
  return layer;
}

RecurrentOutputs unrolled(GraphDefBuilder& out, const RecurrentLayer& layer, int64_t time) {
  const TfTensor& gates = layer.gates;
  const TfNode unpack = out.node("Unpack").input(gates).integer("num", time).type("T", gates.dtype);
  RecurrentState state = layer.first;
  std::vector<TfTensor> outputs;
  for (int64_t i = 0; i < time; ++i) {
    const auto step = static_cast<int>(layer.reverse ? time - 1 - i : i);
    state = next_state(out, layer.node, layer.weights, unpack.output(gates.dtype, step), state);
    outputs.push_back(state.hidden);
  }
  if (layer.reverse) std::reverse(outputs.begin(), outputs.end());
  return {out.pack(outputs, 0), state.cell};
}

void lower_by_steps(Lowering& lowering, const GraphNode& node) {
  const RecurrentLayer layer = layer_of(lowering, node);
  const int64_t time = lowering.type(node, 0).shape[0];
  const bool is_loop = time == kFreeSize || time > kMostUnrolled;
  const RecurrentOutputs outputs = is_loop ? loop_over_steps(lowering.out(), layer, lowering.result_type(node).shape[2])
                                           : unrolled(lowering.out(), layer, time);
  lowering.set(node, outputs.hidden);
  if (node.operation == Operation::kLstm) lowering.set(node, outputs.cell, 1);
}

// [in + n, 4 n]: LibTorch's order of gates is BlockLSTMV2's own.
TfTensor lstm_weight(Lowering& lowering, const GraphNode& node) {
  const at::Tensor* of_input = lowering.literal(node, 3);
  const at::Tensor* of_state = lowering.literal(node, 4);
  if (of_input && of_state) return lowering.derived(node, 3, at::cat({*of_input, *of_state}, 1).t());
  GraphDefBuilder& out = lowering.out();
  return out.transpose(out.concatenate({lowering.input(node, 3), lowering.input(node, 4)}, 1), {1, 0});
}

TfTensor lstm_bias(Lowering& lowering, const GraphNode& node, int64_t size) {
  GraphDefBuilder& out = lowering.out();
  if (!has_biases(node)) return out.constant(at::zeros({4 * size}, lowering.result_type(node).dtype));
  const at::Tensor* of_input = lowering.literal(node, 5);
  const at::Tensor* of_state = lowering.literal(node, 6);
  if (of_input && of_state) return lowering.derived(node, 5, *of_input + *of_state);
  return out.binary("AddV2", lowering.input(node, 5), lowering.input(node, 6));
}

TfTensor reversed(GraphDefBuilder& out, const TfTensor& x, bool reverse) {
  return reverse ? out.binary("ReverseV2", x, out.int32s({0})) : x;
}

void lower_lstm(Lowering& lowering, const GraphNode& node) {
  GraphDefBuilder& out = lowering.out();
  const GraphType& type = lowering.result_type(node);
  if (type.dtype != at::kFloat) return lower_by_steps(lowering, node);  // there is no kernel for float64
  const bool reverse = node.attributes.flag("reverse");
  const int64_t size = type.shape.back();
  const TfTensor x = reversed(out, lowering.input(node, 0), reverse);
  const TfTensor steps = out.size(x, 0);
  const TfTensor none = out.constant(at::zeros({size}, type.dtype));
  const TfNode lstm = out.node("BlockLSTMV2")
                          .inputs({steps, x, lowering.input(node, 2), lowering.input(node, 1),
                                   lstm_weight(lowering, node), none, none, none, lstm_bias(lowering, node, size)})
                          .type("T", type.dtype);
  constexpr int kCells = 1;
  constexpr int kOutputs = 6;
  const TfTensor last = out.slice(lstm.output(type.dtype, kCells), 3, 0, -1, 0);
  lowering.set(node, reversed(out, lstm.output(type.dtype, kOutputs), reverse));
  lowering.set(node, out.squeeze(last, {0}), 1);
}

}  // namespace

void add_recurrent_lowerings(LoweringTable& table) {
  table[Operation::kLstm] = lower_lstm;
  table[Operation::kGru] = lower_by_steps;
  table[Operation::kRnn] = lower_by_steps;
}

}  // namespace belfry::internal
