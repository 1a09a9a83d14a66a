#include "export/internal/tensorflow/recurrent_cell.h"

namespace belfry::internal {
namespace {

// r, z, n: n + z * (h - n) with n = tanh(input + r * state).
TfTensor next_gru(GraphDefBuilder& out, const TfTensor& of_input, const TfTensor& of_state, const TfTensor& axis,
                  const TfTensor& hidden) {
  const auto x = out.split(of_input, 3, axis);
  const auto h = out.split(of_state, 3, axis);
  const TfTensor reset = out.unary("Sigmoid", out.binary("AddV2", x[0], h[0]));
  const TfTensor update = out.unary("Sigmoid", out.binary("AddV2", x[1], h[1]));
  const TfTensor fresh = out.unary("Tanh", out.binary("AddV2", x[2], out.binary("Mul", reset, h[2])));
  return out.binary("AddV2", fresh, out.binary("Mul", update, out.binary("Sub", hidden, fresh)));
}

// i, f, g, o: c = f * c + i * g, h = o * tanh(c).
RecurrentState next_lstm(GraphDefBuilder& out, const TfTensor& sum, const TfTensor& axis, const TfTensor& cell) {
  const auto gates = out.split(sum, 4, axis);
  const TfTensor kept = out.binary("Mul", out.unary("Sigmoid", gates[1]), cell);
  const TfTensor added = out.binary("Mul", out.unary("Sigmoid", gates[0]), out.unary("Tanh", gates[2]));
  const TfTensor next = out.binary("AddV2", kept, added);
  return {out.binary("Mul", out.unary("Sigmoid", gates[3]), out.unary("Tanh", next)), next};
}

}  // namespace

TfTensor recurrent_product(GraphDefBuilder& out, const TfTensor& x, const TfTensor& weight, bool batches) {
  return out.node(batches ? "BatchMatMulV2" : "MatMul")
      .input(x)
      .input(weight)
      .type("T", x.dtype)
      .flag(batches ? "adj_y" : "transpose_b", true)
      .output(x.dtype);
}

RecurrentState next_state(GraphDefBuilder& out, const GraphNode& node, const RecurrentWeights& weights,
                          const TfTensor& of_input, const RecurrentState& state) {
  TfTensor of_state = recurrent_product(out, state.hidden, weights.of_state, false);
  if (!weights.bias.name.empty()) of_state = out.bias_add(of_state, weights.bias);
  if (node.operation == Operation::kGru) return {next_gru(out, of_input, of_state, weights.axis, state.hidden)};
  const TfTensor sum = out.binary("AddV2", of_input, of_state);
  if (node.operation == Operation::kLstm) return next_lstm(out, sum, weights.axis, state.cell);
  return {out.unary(node.attributes.text("nonlinearity") == "relu" ? "Relu" : "Tanh", sum)};
}

}  // namespace belfry::internal
