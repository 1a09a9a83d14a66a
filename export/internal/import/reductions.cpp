// Reductions over axes.
#include "export/internal/import/import_table.h"
#include "export/internal/import/norms.h"

namespace belfry::internal {
namespace {

bool keeps(const Call& call) { return call.flag_or("keepdim", false); }

// The operand as the result's dtype: sums of bool and integers are int64.
template <Operation operation>
Item reduce(Call& call) {
  const GraphValue x = call.operand("self", call.dtype());
  return call.graph().reduce(operation, x, call.axes("dim", call.graph().rank(x)), keeps(call));
}

template <Operation operation>
Item reduce_bool(Call& call) {
  const GraphValue x = call.operand("self", at::kBool);
  const GraphValue result = call.graph().reduce(operation, x, call.axes("dim", call.graph().rank(x)), keeps(call));
  return call.graph().cast(result, call.dtype());
}

// The greatest of all, of an axis with its place, or of two tensors.
template <Operation two, Operation values, Operation places>
Item extreme(Call& call) {
  if (call.has("other")) {
    return call.graph().binary(two, call.operand("self", call.dtype()), call.operand("other", call.dtype()));
  }
  const GraphValue x = call.tensor("self");
  const int64_t rank = call.graph().rank(x);
  if (!call.has("dim")) return call.graph().reduce(values, x, call.axes("dim", rank));
  const int64_t axis = call.axis("dim", rank);
  return std::vector<GraphValue>{call.graph().reduce(values, x, {axis}, keeps(call)),
                                 call.graph().arg_reduce(places, x, axis, keeps(call))};
}

template <Operation operation>
Item place(Call& call) {
  const GraphValue x = call.tensor("self");
  if (call.has("dim")) return call.graph().arg_reduce(operation, x, call.integer("dim"), keeps(call));
  return call.graph().arg_reduce(operation, call.graph().reshape(x, {Extent(-1)}), 0);
}

Extent count_over(GraphBuilder& graph, GraphValue x, const std::vector<int64_t>& axes) {
  Extent count = 1;
  for (const int64_t axis : axes) count = graph.product(count, graph.size(x, axis));
  return count;
}

// By n - correction, of which LibTorch takes the positive part.
GraphValue variance(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue x = call.tensor("self");
  const double correction =
      call.has("correction") ? call.number("correction") : (call.flag_or("unbiased", true) ? 1 : 0);
  const auto axes = call.axes("dim", graph.rank(x));
  const GraphValue distance = graph.binary(Operation::kSubtract, x, graph.reduce(Operation::kMean, x, axes, true));
  const GraphValue sum = graph.reduce(Operation::kSum, graph.unary(Operation::kSquare, distance), axes, keeps(call));
  const GraphValue count = graph.cast(graph.scalar_of(count_over(graph, x, axes)), call.dtype());
  const GraphValue degrees = graph.binary(Operation::kSubtract, count, correction);
  return graph.binary(Operation::kDivide, sum, graph.binary(Operation::kMaximum, degrees, 0));
}

Item var(Call& call) { return variance(call); }
Item std_deviation(Call& call) { return call.graph().unary(Operation::kSqrt, variance(call)); }

GraphValue mean_of(Call& call) {
  const GraphValue x = call.tensor("self");
  return call.graph().reduce(Operation::kMean, x, call.axes("dim", call.graph().rank(x)), keeps(call));
}

Item var_mean(Call& call) { return std::vector<GraphValue>{variance(call), mean_of(call)}; }
Item std_mean(Call& call) {
  return std::vector<GraphValue>{call.graph().unary(Operation::kSqrt, variance(call)), mean_of(call)};
}

Item count_nonzero(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue counted = graph.cast(call.operand("self", at::kBool), at::kLong);
  return graph.reduce(Operation::kSum, counted, call.axes("dim", graph.rank(counted)));
}

Item norm_of_order(Call& call, double order) {
  const GraphValue x = call.operand("self", call.dtype());
  return vector_norm(call.graph(), x, call.axes("dim", call.graph().rank(x)), order, keeps(call));
}

Item norm(Call& call) { return norm_of_order(call, call.number_or("p", 2)); }
Item linalg_vector_norm(Call& call) { return norm_of_order(call, call.number_or("ord", 2)); }

// Of a matrix where two axes and an order are given, or an order of a matrix.
Item linalg_norm(Call& call) {
  const int64_t rank = call.graph().rank(call.tensor("self"));
  const size_t axes = call.has("dim") ? call.integers("dim").size() : rank;
  if (call.has("ord") && axes != 1) refuse_call("it is the norm of a matrix");
  return norm_of_order(call, call.number_or("ord", 2));
}

// log(sum(exp(x - max))) + max, with an infinite greatest taken as zero, as LibTorch does.
Item logsumexp(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue x = call.operand("self", call.dtype());
  const auto axes = call.axes("dim", graph.rank(x));
  const GraphValue greatest = graph.reduce(Operation::kMax, x, axes, true);
  const GraphValue zero = graph.scalar(0, call.dtype());
  const GraphValue shift = graph.select(graph.unary(Operation::kIsInf, greatest), zero, greatest);
  const GraphValue powers = graph.unary(Operation::kExp, graph.binary(Operation::kSubtract, x, shift));
  const GraphValue sum = graph.reduce(Operation::kSum, powers, axes, true);
  const GraphValue result = graph.binary(Operation::kAdd, graph.unary(Operation::kLog, sum), shift);
  return keeps(call) ? result : graph.squeeze(result, axes);
}

Item cumsum(Call& call) {
  return call.graph().along_axis(Operation::kCumulativeSum, call.operand("self", call.dtype()), call.integer("dim"));
}

}  // namespace

void add_reductions(ImportTable& table) {
  table.insert({{"sum", reduce<Operation::kSum>},
                {"mean", reduce<Operation::kMean>},
                {"prod", reduce<Operation::kProduct>},
                {"amax", reduce<Operation::kMax>},
                {"amin", reduce<Operation::kMin>},
                {"any", reduce_bool<Operation::kAny>},
                {"all", reduce_bool<Operation::kAll>},
                {"max", extreme<Operation::kMaximum, Operation::kMax, Operation::kArgMax>},
                {"min", extreme<Operation::kMinimum, Operation::kMin, Operation::kArgMin>},
                {"argmax", place<Operation::kArgMax>},
                {"argmin", place<Operation::kArgMin>},
                {"var", var},
                {"std", std_deviation},
                {"var_mean", var_mean},
                {"std_mean", std_mean},
                {"count_nonzero", count_nonzero},
                {"norm", norm},
                {"linalg_vector_norm", linalg_vector_norm},
                {"linalg_norm", linalg_norm},
                {"logsumexp", logsumexp},
                {"cumsum", cumsum}});
}

}  // namespace belfry::internal
