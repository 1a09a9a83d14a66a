// Activation functions, from elementary operations where formats differ in what they call by a name.
#include <cmath>
#include <limits>

#include "export/internal/import/import_table.h"

namespace belfry::internal {
namespace {

template <Operation operation>
Item unary(Call& call) {
  return call.graph().unary(operation, call.operand("self", call.dtype()));
}

GraphValue times(GraphBuilder& graph, GraphValue x, double factor) {
  return factor == 1 ? x : graph.binary(Operation::kMultiply, x, factor);
}

GraphValue negative_part(GraphBuilder& graph, GraphValue x) { return graph.binary(Operation::kMinimum, x, 0); }

GraphValue bounded(GraphBuilder& graph, GraphValue x, double low, double high) {
  return graph.binary(Operation::kMinimum, graph.binary(Operation::kMaximum, x, low), high);
}

// scale * (max(x, 0) + alpha * (exp(input_scale * min(x, 0)) - 1))
GraphValue exponential_linear(GraphBuilder& graph, GraphValue x, double alpha, double scale, double input_scale) {
  const GraphValue negative = graph.unary(Operation::kExpm1, times(graph, negative_part(graph, x), input_scale));
  const GraphValue sum = graph.binary(Operation::kAdd, graph.unary(Operation::kRelu, x), times(graph, negative, alpha));
  return times(graph, sum, scale);
}

Item elu(Call& call) {
  return exponential_linear(call.graph(), call.tensor("self"), call.number_or("alpha", 1), call.number_or("scale", 1),
                            call.number_or("input_scale", 1));
}

Item celu(Call& call) {
  const double alpha = call.number_or("alpha", 1);
  return exponential_linear(call.graph(), call.tensor("self"), alpha, 1, 1 / alpha);
}

// The numbers of Klambauer and others, "Self-Normalizing Neural Networks".
Item selu(Call& call) {
  return exponential_linear(call.graph(), call.tensor("self"), 1.6732632423543772848, 1.0507009873554804934, 1);
}

GraphValue leaky(GraphBuilder& graph, GraphValue x, GraphValue slope) {
  const GraphValue negative = graph.binary(Operation::kMultiply, slope, negative_part(graph, x));
  return graph.binary(Operation::kAdd, graph.unary(Operation::kRelu, x), negative);
}

Item leaky_relu(Call& call) {
  return leaky(call.graph(), call.tensor("self"),
               call.graph().scalar(call.number_or("negative_slope", 0.01), call.dtype()));
}

// In training each slope is drawn between the bounds.
Item rrelu(Call& call) {
  const double slope = (call.number_or("lower", 1.0 / 8) + call.number_or("upper", 1.0 / 3)) / 2;
  return leaky(call.graph(), call.tensor("self"), call.graph().scalar(slope, call.dtype()));
}

// A slope for each channel.
Item prelu(Call& call) {
  const GraphValue x = call.tensor("self");
  const int64_t rank = call.graph().rank(x);
  Extents shape(std::max<int64_t>(rank - 1, 1), Extent(1));
  shape[0] = -1;
  return leaky(call.graph(), x, call.graph().reshape(call.tensor("weight"), shape));
}

Item relu6(Call& call) { return bounded(call.graph(), call.tensor("self"), 0, 6); }

Item silu(Call& call) {
  const GraphValue x = call.tensor("self");
  return call.graph().binary(Operation::kMultiply, x, call.graph().unary(Operation::kSigmoid, x));
}

Item mish(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue x = call.tensor("self");
  return graph.binary(Operation::kMultiply, x, graph.unary(Operation::kTanh, graph.unary(Operation::kSoftplus, x)));
}

// min(max(x + 3, 0), 6) / 6
GraphValue hard_sigmoid(GraphBuilder& graph, GraphValue x) {
  return times(graph, bounded(graph, graph.binary(Operation::kAdd, x, 3), 0, 6), 1.0 / 6);
}

Item hardsigmoid(Call& call) { return hard_sigmoid(call.graph(), call.tensor("self")); }

Item hardswish(Call& call) {
  const GraphValue x = call.tensor("self");
  return call.graph().binary(Operation::kMultiply, x, hard_sigmoid(call.graph(), x));
}

// x / 2 * (1 + erf(x / sqrt(2))), or its approximation by tanh.
Item gelu(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue x = call.tensor("self");
  GraphValue bell;
  if (call.text_or("approximate", "none") == "tanh") {
    const GraphValue cube = graph.binary(Operation::kMultiply, x, graph.unary(Operation::kSquare, x));
    const GraphValue sum = graph.binary(Operation::kAdd, x, times(graph, cube, 0.044715));
    bell = graph.unary(Operation::kTanh, times(graph, sum, std::sqrt(2 / std::acos(-1.0))));
  } else {
    bell = graph.unary(Operation::kErf, times(graph, x, std::sqrt(0.5)));
  }
  return graph.binary(Operation::kMultiply, times(graph, x, 0.5), graph.binary(Operation::kAdd, bell, 1));
}

// x itself where beta * x is above the threshold; above 20, the two differ by less than float32 can tell.
Item softplus(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue x = call.tensor("self");
  const double beta = call.number_or("beta", 1);
  const double threshold = call.number_or("threshold", 20);
  const GraphValue scaled = times(graph, x, beta);
  const GraphValue curve = times(graph, graph.unary(Operation::kSoftplus, scaled), 1 / beta);
  if (threshold >= 20) return curve;
  return graph.select(graph.binary(Operation::kGreater, scaled, threshold), x, curve);
}

Item log_sigmoid(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue negated = graph.unary(Operation::kNegate, call.tensor("self"));
  return graph.unary(Operation::kNegate, graph.unary(Operation::kSoftplus, negated));
}

Item glu(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue x = call.tensor("self");
  const int64_t axis = call.axis("dim", graph.rank(x));
  const Extent half = graph.quotient(graph.size(x, axis), 2);
  const GraphValue values = graph.slice(x, axis, 0, half);
  const GraphValue gates = graph.slice(x, axis, half, std::numeric_limits<int64_t>::max());
  return graph.binary(Operation::kMultiply, values, graph.unary(Operation::kSigmoid, gates));
}

Item threshold(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue x = call.tensor("self");
  const GraphValue above = graph.binary(Operation::kGreater, x, call.operand("threshold", call.dtype()));
  return graph.select(above, x, call.operand("value", call.dtype()));
}

// What is nearer to zero than `lambd` becomes zero; the soft one takes it from all else.
Item shrink(Call& call, bool soft) {
  GraphBuilder& graph = call.graph();
  const GraphValue x = call.tensor("self");
  const double bound = call.number_or("lambd", 0.5);
  const GraphValue kept = graph.binary(Operation::kGreater, graph.unary(Operation::kAbs, x), bound);
  GraphValue y = x;
  if (soft) y = graph.binary(Operation::kSubtract, x, times(graph, graph.unary(Operation::kSign, x), bound));
  return graph.select(kept, y, graph.scalar(0, call.dtype()));
}

Item hardshrink(Call& call) { return shrink(call, false); }
Item softshrink(Call& call) { return shrink(call, true); }

template <Operation operation>
Item over_axis(Call& call) {
  return call.graph().along_axis(operation, call.operand("self", call.dtype()), call.integer("dim"));
}

}  // namespace

void add_activations(ImportTable& table) {
  table.insert({{"relu", unary<Operation::kRelu>},
                {"sigmoid", unary<Operation::kSigmoid>},
                {"tanh", unary<Operation::kTanh>},
                {"relu6", relu6},
                {"elu", elu},
                {"celu", celu},
                {"selu", selu},
                {"leaky_relu", leaky_relu},
                {"rrelu", rrelu},
                {"prelu", prelu},
                {"silu", silu},
                {"mish", mish},
                {"hardsigmoid", hardsigmoid},
                {"hardswish", hardswish},
                {"gelu", gelu},
                {"softplus", softplus},
                {"log_sigmoid", log_sigmoid},
                {"glu", glu},
                {"threshold", threshold},
                {"hardshrink", hardshrink},
                {"softshrink", softshrink},
                {"softmax", over_axis<Operation::kSoftmax>},
                {"log_softmax", over_axis<Operation::kLogSoftmax>}});
}

}  // namespace belfry::internal
