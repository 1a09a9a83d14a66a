#include "graph_evaluator.h"

#include <torch/torch.h>

#include <unordered_map>

#include "core/error.h"

namespace belfry::testing {
namespace {

namespace F = torch::nn::functional;
using Inputs = std::vector<at::Tensor>;
using Outputs = std::vector<at::Tensor>;

std::vector<int64_t> numbers_of(const at::Tensor& vector) {
  const at::Tensor flat = vector.to(at::kLong).contiguous();
  return {flat.const_data_ptr<int64_t>(), flat.const_data_ptr<int64_t>() + flat.numel()};
}

at::Tensor evaluate_unary(Operation operation, const at::Tensor& x) {
  switch (operation) {
    case Operation::kAbs:
      return x.abs();
    case Operation::kNegate:
      return x.neg();
    case Operation::kSign:
      return x.sign();
    case Operation::kExp:
      return x.exp();
    case Operation::kExpm1:
      return x.expm1();
    case Operation::kLog:
      return x.log();
    case Operation::kLog1p:
      return x.log1p();
    case Operation::kSqrt:
      return x.sqrt();
    case Operation::kRsqrt:
      return x.rsqrt();
    case Operation::kReciprocal:
      return x.reciprocal();
    case Operation::kSquare:
      return x * x;
    case Operation::kSin:
      return x.sin();
    case Operation::kCos:
      return x.cos();
    case Operation::kErf:
      return x.erf();
    case Operation::kFloor:
      return x.floor();
    case Operation::kCeil:
      return x.ceil();
    case Operation::kRound:
      return x.round();
    case Operation::kSigmoid:
      return x.sigmoid();
    case Operation::kTanh:
      return x.tanh();
    case Operation::kRelu:
      return x.relu();
    case Operation::kSoftplus:
      return at::softplus(x);
    case Operation::kLogicalNot:
      return x.logical_not();
    case Operation::kBitwiseNot:
      return x.bitwise_not();
    case Operation::kIsNan:
      return x.isnan();
    case Operation::kIsInf:
      return x.isinf();
    default:
      fail(ErrorKind::kInternal, "evaluator: ", to_string(operation), " has not one operand");
  }
}

at::Tensor evaluate_binary(Operation operation, const at::Tensor& a, const at::Tensor& b) {
  switch (operation) {
    case Operation::kAdd:
      return a + b;
    case Operation::kSubtract:
      return a - b;
    case Operation::kMultiply:
      return a * b;
    case Operation::kDivide:
      return a / b;
    case Operation::kFloorDivide:
      return at::div(a, b, "floor");
    case Operation::kTruncateDivide:
      return at::div(a, b, "trunc");
    case Operation::kFloorModulo:
      return at::remainder(a, b);
    case Operation::kPower:
      return a.pow(b);
    case Operation::kMaximum:
      return at::maximum(a, b);
    case Operation::kMinimum:
      return at::minimum(a, b);
    case Operation::kAtan2:
      return at::atan2(a, b);
    case Operation::kEqual:
      return a.eq(b);
    case Operation::kNotEqual:
      return a.ne(b);
    case Operation::kGreater:
      return a.gt(b);
    case Operation::kGreaterEqual:
      return a.ge(b);
    case Operation::kLess:
      return a.lt(b);
    case Operation::kLessEqual:
      return a.le(b);
    case Operation::kLogicalAnd:
      return a.logical_and(b);
    case Operation::kLogicalOr:
      return a.logical_or(b);
    case Operation::kLogicalXor:
      return a.logical_xor(b);
    case Operation::kBitwiseAnd:
      return a.bitwise_and(b);
    case Operation::kBitwiseOr:
      return a.bitwise_or(b);
    case Operation::kBitwiseXor:
      return a.bitwise_xor(b);
    default:
      fail(ErrorKind::kInternal, "evaluator: ", to_string(operation), " has not two operands");
  }
}

at::Tensor reduce_product(at::Tensor x, std::vector<int64_t> axes, bool keep) {
  std::sort(axes.rbegin(), axes.rend());
  for (const int64_t axis : axes) x = x.prod(axis, keep);
  return x;
}

at::Tensor evaluate_reduction(const GraphNode& node, const at::Tensor& x) {
  const auto& axes = node.attributes.integers("axes");
  const bool keep = node.attributes.flag("keep");
  switch (node.operation) {
    case Operation::kSum:
      return x.sum(axes, keep, x.scalar_type());
    case Operation::kMean:
      return x.mean(axes, keep);
    case Operation::kProduct:
      return reduce_product(x, axes, keep);
    case Operation::kMax:
      return x.amax(axes, keep);
    case Operation::kMin:
      return x.amin(axes, keep);
    case Operation::kAny:
      return x.any(axes, keep);
    case Operation::kAll:
      return x.all(axes, keep);
    default:
      fail(ErrorKind::kInternal, "evaluator: ", to_string(node.operation), " is no reduction");
  }
}

// LibTorch's argmax has no bool.
at::Tensor numbers_of_bool(const at::Tensor& x) { return x.scalar_type() == at::kBool ? x.to(at::kByte) : x; }

// Of equal values the first, which at::topk does not promise.
Outputs evaluate_top_k(const GraphNode& node, const at::Tensor& x, int64_t k) {
  const int64_t axis = node.attributes.integer("axis");
  const auto [values, places] = at::sort(x, /*stable=*/true, axis, node.attributes.flag("largest"));
  return {values.narrow(axis, 0, k), places.narrow(axis, 0, k)};
}

at::Tensor evaluate_along_axis(const GraphNode& node, const at::Tensor& x) {
  const int64_t axis = node.attributes.integer("axis");
  switch (node.operation) {
    case Operation::kArgMax:
      return numbers_of_bool(x).argmax(axis, node.attributes.flag("keep"));
    case Operation::kArgMin:
      return numbers_of_bool(x).argmin(axis, node.attributes.flag("keep"));
    case Operation::kCumulativeSum:
      return x.cumsum(axis, x.scalar_type());
    case Operation::kSoftmax:
      return x.softmax(axis);
    case Operation::kLogSoftmax:
      return x.log_softmax(axis);
    default:
      fail(ErrorKind::kInternal, "evaluator: ", to_string(node.operation), " does not run along an axis");
  }
}

at::Tensor margins_of(const at::Tensor& x, const GraphNode& node, const at::Scalar& value) {
  const auto& before = node.attributes.integers("before");
  const auto& after = node.attributes.integers("after");
  std::vector<int64_t> pairs;
  for (size_t axis = before.size(); axis-- > 0;) pairs.insert(pairs.end(), {before[axis], after[axis]});
  return at::constant_pad_nd(x, pairs, value);
}

at::Tensor mirrored(at::Tensor x, const GraphNode& node) {
  const auto& before = node.attributes.integers("before");
  const auto& after = node.attributes.integers("after");
  for (int64_t axis = 0; axis < x.dim(); ++axis) {
    const at::Tensor places = at::arange(-before[axis], x.size(axis) + after[axis], at::kLong).abs();
    const int64_t last = x.size(axis) - 1;
    x = x.index_select(axis, last - (last - places).abs());
  }
  return x;
}

at::Tensor band(const at::Tensor& x, int64_t lower, int64_t upper) {
  at::Tensor result = lower < 0 ? x : x.triu(-lower);
  return upper < 0 ? result : result.tril(upper);
}

at::Tensor evaluate_shape(const GraphNode& node, const Inputs& in) {
  const GraphAttributes& attributes = node.attributes;
  switch (node.operation) {
    case Operation::kSize:
      return at::scalar_tensor(in[0].size(attributes.integer("axis")), at::kLong);
    case Operation::kStack:
      return at::stack(in, attributes.integer("axis"));
    case Operation::kReshape:
      return in[0].reshape(numbers_of(in[1]));
    case Operation::kTranspose:
      return in[0].permute(attributes.integers("permutation"));
    case Operation::kBroadcast:
      return in[0].expand(numbers_of(in[1])).contiguous();
    case Operation::kSqueeze:
      return in[0].squeeze(attributes.integers("axes"));
    case Operation::kUnsqueeze:
      return in[0].unsqueeze(attributes.integers("axes").at(0));
    case Operation::kConcatenate:
      return at::cat(in, attributes.integer("axis"));
    case Operation::kSlice:
      return in[0].slice(attributes.integer("axis"), in[1].item<int64_t>(), in[2].item<int64_t>(),
                         attributes.integer("step"));
    case Operation::kPad:
      return margins_of(in[0], node, in[1].item());
    case Operation::kMirrorPad:
      return mirrored(in[0], node);
    case Operation::kReverse:
      return in[0].flip(attributes.integers("axes"));
    case Operation::kTile:
      return in[0].repeat(attributes.integers("repeats"));
    case Operation::kBandPart:
      return band(in[0], attributes.integer("lower"), attributes.integer("upper"));
    case Operation::kRange:
      return at::arange(in[0].item(), in[1].item(), in[2].item(), at::TensorOptions(in[0].scalar_type()));
    default:
      fail(ErrorKind::kInternal, "evaluator: ", to_string(node.operation), " is no view");
  }
}

at::Tensor gather_nd(const at::Tensor& x, const at::Tensor& places) {
  c10::List<std::optional<at::Tensor>> indices;
  for (const at::Tensor& index : places.unbind(-1)) indices.push_back(index);
  return x.index(indices);
}

at::Tensor evaluate_indexing(const GraphNode& node, const Inputs& in) {
  const auto axis = [&] { return node.attributes.integer("axis"); };
  switch (node.operation) {
    case Operation::kGather: {
      std::vector<int64_t> shape = in[0].sizes().vec();
      shape.erase(shape.begin() + axis());
      shape.insert(shape.begin() + axis(), in[1].sizes().begin(), in[1].sizes().end());
      return in[0].index_select(axis(), in[1].reshape({-1})).reshape(shape);
    }
    case Operation::kGatherElements:
      return in[0].gather(axis(), in[1]);
    case Operation::kGatherNd:
      return gather_nd(in[0], in[1]);
    case Operation::kScatterElements:
      return node.attributes.contains("reduce") ? in[0].scatter_add(axis(), in[1], in[2])
                                                : in[0].scatter(axis(), in[1], in[2]);
    case Operation::kNonZero:
      return in[0].nonzero();
    case Operation::kOneHot:
      return in[0].unsqueeze(-1).eq(at::arange(node.attributes.integer("depth"))).to(at::kLong);
    default:
      fail(ErrorKind::kInternal, "evaluator: ", to_string(node.operation), " does not index");
  }
}

std::optional<at::Tensor> optional_input(const Inputs& in, size_t i) {
  return i < in.size() ? std::optional(in[i]) : std::nullopt;
}

at::Tensor convolution(const GraphNode& node, const Inputs& in) {
  const GraphAttributes& attributes = node.attributes;
  const size_t axes = attributes.integers("strides").size();
  if (node.operation == Operation::kTransposedConvolution) {
    return at::convolution(in[0], in[1], optional_input(in, 2), attributes.integers("strides"),
                           attributes.integers("padding"), attributes.integers("dilations"), true,
                           attributes.integers("output_padding"), attributes.integer("groups"));
  }
  std::vector<int64_t> pairs;
  for (size_t i = axes; i-- > 0;) {
    pairs.insert(pairs.end(), {attributes.integers("before")[i], attributes.integers("after")[i]});
  }
  const std::vector<int64_t> none(axes, 0);
  return at::convolution(at::constant_pad_nd(in[0], pairs), in[1], optional_input(in, 2),
                         attributes.integers("strides"), none, attributes.integers("dilations"), false, none,
                         attributes.integer("groups"));
}

at::Tensor max_pool(const GraphAttributes& a, const at::Tensor& x) {
  const auto pool = a.integers("kernel").size() == 1   ? at::max_pool1d
                    : a.integers("kernel").size() == 2 ? at::max_pool2d
                                                       : at::max_pool3d;
  return pool(x, a.integers("kernel"), a.integers("strides"), a.integers("padding"), a.integers("dilations"),
              a.flag("ceil"));
}

at::Tensor average_pool(const GraphAttributes& a, const at::Tensor& x) {
  const auto &kernel = a.integers("kernel"), &strides = a.integers("strides"), &padding = a.integers("padding");
  const bool ceil = a.flag("ceil");
  const bool count = a.flag("count_padding");
  if (kernel.size() == 1) return at::avg_pool1d(x, kernel, strides, padding, ceil, count);
  if (kernel.size() == 2) return at::avg_pool2d(x, kernel, strides, padding, ceil, count);
  return at::avg_pool3d(x, kernel, strides, padding, ceil, count);
}

at::Tensor layer_normalization(const GraphNode& node, const at::Tensor& x) {
  const int64_t count = node.attributes.integer("axes_count");
  return at::layer_norm(x, x.sizes().slice(x.dim() - count), {}, {}, node.attributes.number("epsilon"));
}

at::Tensor evaluate_layer(const GraphNode& node, const Inputs& in) {
  const GraphAttributes& attributes = node.attributes;
  switch (node.operation) {
    case Operation::kLinear:
      return at::linear(in[0], in[1], optional_input(in, 2));
    case Operation::kMatmul:
      return at::matmul(in[0], in[1]);
    case Operation::kEinsum:
      return at::einsum(attributes.text("equation"), in);
    case Operation::kConvolution:
    case Operation::kTransposedConvolution:
      return convolution(node, in);
    case Operation::kMaxPool:
      return max_pool(attributes, in[0]);
    case Operation::kAveragePool:
      return average_pool(attributes, in[0]);
    case Operation::kResizeNearest:
      return at::upsample_nearest2d(in[0], attributes.integers("size"));
    case Operation::kResizeLinear:
      return at::upsample_bilinear2d(in[0], attributes.integers("size"), attributes.flag("align_corners"));
    case Operation::kBatchNormalization:
      return at::batch_norm(in[0], in[1], in[2], in[3], in[4], false, 0, attributes.number("epsilon"), false);
    case Operation::kLayerNormalization:
      return layer_normalization(node, in[0]);
    default:
      fail(ErrorKind::kInternal, "evaluator: ", to_string(node.operation), " is no layer");
  }
}

at::Tensor next_state(const GraphNode& node, const at::Tensor& x, const at::Tensor& h, const Inputs& weights) {
  const auto b_ih = optional_input(weights, 2);
  const auto b_hh = optional_input(weights, 3);
  if (node.operation == Operation::kGru) return at::gru_cell(x, h, weights[0], weights[1], b_ih, b_hh);
  return node.attributes.text("nonlinearity") == "relu" ? at::rnn_relu_cell(x, h, weights[0], weights[1], b_ih, b_hh)
                                                        : at::rnn_tanh_cell(x, h, weights[0], weights[1], b_ih, b_hh);
}

Outputs evaluate_recurrent(const GraphNode& node, const Inputs& in) {
  const bool lstm = node.operation == Operation::kLstm;
  const Inputs weights(in.begin() + (lstm ? 3 : 2), in.end());
  at::Tensor h = in[1];
  at::Tensor c = lstm ? in[2] : at::Tensor();
  std::vector<at::Tensor> outputs(in[0].size(0));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const size_t step = node.attributes.flag("reverse") ? outputs.size() - 1 - i : i;
    const at::Tensor x = in[0].select(0, static_cast<int64_t>(step));
    if (lstm) {
      std::tie(h, c) =
          at::lstm_cell(x, {h, c}, weights[0], weights[1], optional_input(weights, 2), optional_input(weights, 3));
    } else {
      h = next_state(node, x, h, weights);
    }
    outputs[step] = h;
  }
  return lstm ? Outputs{at::stack(outputs), c} : Outputs{at::stack(outputs)};
}

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
