// Losses and similarities, which a model may give as predictions.
#include "export/internal/import/import_table.h"

namespace belfry::internal {
namespace {

GraphValue reduced(Call& call, GraphValue losses) {
  GraphBuilder& graph = call.graph();
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < graph.rank(losses); ++axis) axes.push_back(axis);
  switch (call.integer_or("reduction", 1)) {
    case 0:
      return losses;
    case 1:
      return graph.reduce(Operation::kMean, losses, axes);
    default:
      return graph.reduce(Operation::kSum, losses, axes);
  }
}

GraphValue difference(Call& call) {
  return call.graph().binary(Operation::kSubtract, call.operand("self", call.dtype()),
                             call.operand("target", call.dtype()));
}

Item mse_loss(Call& call) { return reduced(call, call.graph().unary(Operation::kSquare, difference(call))); }
Item l1_loss(Call& call) { return reduced(call, call.graph().unary(Operation::kAbs, difference(call))); }

// d^2 * square below `bound`, line * (d - bound / 2) above it.
Item rounded_l1(Call& call, double bound, double square, double line) {
  GraphBuilder& graph = call.graph();
  const GraphValue d = graph.unary(Operation::kAbs, difference(call));
  const GraphValue inner = graph.binary(Operation::kMultiply, graph.unary(Operation::kSquare, d), square);
  const GraphValue outer = graph.binary(Operation::kMultiply, graph.binary(Operation::kSubtract, d, bound / 2), line);
  return reduced(call, graph.select(graph.binary(Operation::kLess, d, bound), inner, outer));
}

Item smooth_l1_loss(Call& call) {
  const double beta = call.number_or("beta", 1);
  return beta == 0 ? l1_loss(call) : rounded_l1(call, beta, 0.5 / beta, 1);
}

Item huber_loss(Call& call) {
  const double delta = call.number_or("delta", 1);
  return rounded_l1(call, delta, 0.5, delta);
}

// max(x, 0) - x * z + log(1 + exp(-|x|))
Item bce_with_logits(Call& call) {
  if (call.has("pos_weight")) refuse_call("it has a pos_weight");
  GraphBuilder& graph = call.graph();
  const GraphValue x = call.tensor("self");
  const GraphValue z = call.tensor("target");
  const GraphValue negated = graph.unary(Operation::kNegate, graph.unary(Operation::kAbs, x));
  const GraphValue smooth = graph.unary(Operation::kLog1p, graph.unary(Operation::kExp, negated));
  const GraphValue straight =
      graph.binary(Operation::kSubtract, graph.unary(Operation::kRelu, x), graph.binary(Operation::kMultiply, x, z));
  GraphValue losses = graph.binary(Operation::kAdd, straight, smooth);
  if (call.has("weight")) losses = graph.binary(Operation::kMultiply, losses, call.tensor("weight"));
  return reduced(call, losses);
}

// -log p of the target's class; class axis 1.
GraphValue negative_log(Call& call, GraphValue log_probabilities) {
  if (call.has("weight")) refuse_call("it weights classes");
  if (call.number_or("label_smoothing", 0) != 0) refuse_call("it smooths labels");
  GraphBuilder& graph = call.graph();
  const GraphValue target = call.tensor("target");
  if (graph.type(target).dtype != at::kLong) refuse_call("its targets are probabilities");
  if (graph.rank(log_probabilities) < 2) refuse_call("its operand has no batch");
  const GraphValue picked = graph.gather_elements(log_probabilities, graph.unsqueeze(target, 1), 1);
  return reduced(call, graph.unary(Operation::kNegate, graph.squeeze(picked, {1})));
}

Item nll_loss(Call& call) { return negative_log(call, call.tensor("self")); }

Item cross_entropy_loss(Call& call) {
  const GraphValue logits = call.tensor("self");
  const int64_t axis = call.graph().rank(logits) < 2 ? 0 : 1;
  return negative_log(call, call.graph().along_axis(Operation::kLogSoftmax, logits, axis));
}

// sum(a / |a| * b / |b|), each norm being at least eps.
Item cosine_similarity(Call& call) {
  GraphBuilder& graph = call.graph();
  const int64_t axis = call.integer_or("dim", 1);
  const auto direction = [&](GraphValue x) {
    const GraphValue squares = graph.reduce(Operation::kSum, graph.unary(Operation::kSquare, x), {axis}, true);
    const GraphValue norm = graph.unary(Operation::kSqrt, squares);
    return graph.binary(Operation::kDivide, x, graph.binary(Operation::kMaximum, norm, call.number_or("eps", 1e-8)));
  };
  const GraphValue product =
      graph.binary(Operation::kMultiply, direction(call.tensor("x1")), direction(call.tensor("x2")));
  return graph.reduce(Operation::kSum, product, {axis});
}

}  // namespace

void add_losses(ImportTable& table) {
  table.insert({{"mse_loss", mse_loss},
                {"l1_loss", l1_loss},
                {"smooth_l1_loss", smooth_l1_loss},
                {"huber_loss", huber_loss},
                {"binary_cross_entropy_with_logits", bce_with_logits},
                {"nll_loss", nll_loss},
                {"nll_loss_nd", nll_loss},
                {"cross_entropy_loss", cross_entropy_loss},
                {"cosine_similarity", cosine_similarity}});
}

}  // namespace belfry::internal
