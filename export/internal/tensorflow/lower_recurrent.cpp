// Recurrent layers. An LSTM is one operation; TensorFlow has none with the mathematics of LibTorch's GRU and RNN, which
// are unrolled over a time that is known.
#include <ATen/ATen.h>

#include <algorithm>

#include "core/error.h"
#include "export/internal/tensorflow/lowering.h"

namespace belfry::internal {
namespace {

// Where the weights stand among the inputs: behind x, h and, of an LSTM, c.
size_t first_weight(const GraphNode& node) { return node.operation == Operation::kLstm ? 3 : 2; }
bool has_biases(const GraphNode& node) { return node.inputs.size() > first_weight(node) + 2; }

TfTensor linear(GraphDefBuilder& out, const TfTensor& x, const TfTensor& weight, bool batches) {
  return out.node(batches ? "BatchMatMulV2" : "MatMul")
      .input(x)
      .input(weight)
      .type("T", x.dtype)
      .flag(batches ? "adj_y" : "transpose_b", true)
      .output(x.dtype);
}

// One layer in one direction, step by step.
class Unrolled {
 public:
  Unrolled(Lowering& lowering, const GraphNode& node)
      : out_(lowering.out()),
        node_(node),
        reverse_(node.attributes.flag("reverse")),
        time_(lowering.type(node, 0).shape[0]),
        hidden_(lowering.input(node, 1)),
        weight_(lowering.input(node, first_weight(node) + 1)) {
    if (time_ == kFreeSize) fail(ErrorKind::kUnimplemented, "the number of its steps varies from request to request");
    if (node.operation == Operation::kLstm) cell_ = lowering.input(node, 2);
    TfTensor gates = linear(out_, lowering.input(node, 0), lowering.input(node, first_weight(node)), true);
    if (has_biases(node)) {
      gates = out_.bias_add(gates, lowering.input(node, first_weight(node) + 2));
      bias_ = lowering.input(node, first_weight(node) + 3);
    }
    gates_ = gates;
  }

  // The outputs of all steps, [time, batch, n].
  TfTensor run() {
    const TfNode unpack = out_.node("Unpack").input(gates_).integer("num", time_).type("T", gates_.dtype);
    std::vector<TfTensor> outputs;
    for (int64_t i = 0; i < time_; ++i) {
      const auto step = static_cast<int>(reverse_ ? time_ - 1 - i : i);
      hidden_ = next(unpack.output(gates_.dtype, step));
      outputs.push_back(hidden_);
    }
    if (reverse_) std::reverse(outputs.begin(), outputs.end());
    return out_.pack(outputs, 0);
  }

  const TfTensor& cell() const { return cell_; }

 private:
  TfTensor next(const TfTensor& of_input) {
    TfTensor of_state = linear(out_, hidden_, weight_, false);
    if (!bias_.name.empty()) of_state = out_.bias_add(of_state, bias_);
    if (node_.operation == Operation::kGru) return next_gru(of_input, of_state);
    const TfTensor sum = out_.binary("AddV2", of_input, of_state);
    if (node_.operation == Operation::kLstm) return next_lstm(sum);
    return out_.unary(node_.attributes.text("nonlinearity") == "relu" ? "Relu" : "Tanh", sum);
  }

  // r, z, n: n + z * (h - n) with n = tanh(input + r * state).
  TfTensor next_gru(const TfTensor& of_input, const TfTensor& of_state) {
    const auto x = out_.split(of_input, 3, 1);
    const auto h = out_.split(of_state, 3, 1);
    const TfTensor reset = out_.unary("Sigmoid", out_.binary("AddV2", x[0], h[0]));
    const TfTensor update = out_.unary("Sigmoid", out_.binary("AddV2", x[1], h[1]));
    const TfTensor fresh = out_.unary("Tanh", out_.binary("AddV2", x[2], out_.binary("Mul", reset, h[2])));
    return out_.binary("AddV2", fresh, out_.binary("Mul", update, out_.binary("Sub", hidden_, fresh)));
  }

  // i, f, g, o: c = f * c + i * g, h = o * tanh(c).
  TfTensor next_lstm(const TfTensor& sum) {
    const auto gates = out_.split(sum, 4, 1);
    const TfTensor kept = out_.binary("Mul", out_.unary("Sigmoid", gates[1]), cell_);
    const TfTensor added = out_.binary("Mul", out_.unary("Sigmoid", gates[0]), out_.unary("Tanh", gates[2]));
    cell_ = out_.binary("AddV2", kept, added);
    return out_.binary("Mul", out_.unary("Sigmoid", gates[3]), out_.unary("Tanh", cell_));
  }

  GraphDefBuilder& out_;
  const GraphNode& node_;
  const bool reverse_;
  const int64_t time_;
  TfTensor hidden_;
  TfTensor cell_;
  const TfTensor weight_;
  TfTensor bias_;
  TfTensor gates_;
};

void lower_unrolled(Lowering& lowering, const GraphNode& node) {
  Unrolled layer(lowering, node);
  lowering.set(node, layer.run());
  if (node.operation == Operation::kLstm) lowering.set(node, layer.cell(), 1);
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
  if (type.dtype != at::kFloat) return lower_unrolled(lowering, node);  // there is no kernel for float64
  const bool reverse = node.attributes.flag("reverse");
  const int64_t size = type.shape.back();
  const TfTensor x = reversed(out, lowering.input(node, 0), reverse);
  const TfTensor steps = out.squeeze(out.slice(out.shape(x), 1, 0, 0, 1), {0});
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
  table[Operation::kGru] = lower_unrolled;
  table[Operation::kRnn] = lower_unrolled;
}

}  // namespace belfry::internal
