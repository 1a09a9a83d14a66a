// Comparisons, logic, and choices by them.
#include <ATen/ATen.h>

#include <limits>

#include "export/internal/import/import_table.h"

namespace belfry::internal {
namespace {

// An empty stand-in, by which LibTorch's own rules of promotion can be asked.
at::Tensor stand_in(const GraphType& type) {
  const at::TensorOptions options(type.dtype);
  return type.rank() == 0 ? at::zeros({}, options) : at::empty({0}, options);
}

c10::ScalarType common_dtype(Call& call, GraphValue self) {
  const at::Tensor a = stand_in(call.graph().type(self));
  const Item& other = call.item("other");
  if (const auto* number = other.get<double>()) return at::result_type(a, at::Scalar(*number));
  if (const auto* integer = other.get<int64_t>()) return at::result_type(a, at::Scalar(*integer));
  if (const auto* flag = other.get<bool>()) return at::result_type(a, at::Scalar(*flag));
  return at::result_type(a, stand_in(call.graph().type(call.tensor("other"))));
}

template <Operation operation>
Item compare(Call& call) {
  const GraphValue self = call.tensor("self");
  const c10::ScalarType dtype = common_dtype(call, self);
  return call.graph().binary(operation, call.graph().cast(self, dtype), call.operand("other", dtype));
}

template <Operation operation>
Item logical(Call& call) {
  return call.graph().binary(operation, call.operand("self", at::kBool), call.operand("other", at::kBool));
}

template <Operation for_bool, Operation for_integers>
Item bitwise(Call& call) {
  const Operation operation = call.dtype() == at::kBool ? for_bool : for_integers;
  return call.graph().binary(operation, call.operand("self", call.dtype()), call.operand("other", call.dtype()));
}

Item logical_not(Call& call) { return call.graph().unary(Operation::kLogicalNot, call.operand("self", at::kBool)); }

Item bitwise_not(Call& call) {
  const Operation operation = call.dtype() == at::kBool ? Operation::kLogicalNot : Operation::kBitwiseNot;
  return call.graph().unary(operation, call.tensor("self"));
}

// Integers are never either.
template <Operation operation>
Item classify(Call& call) {
  const GraphValue x = call.tensor("self");
  if (at::isFloatingType(call.graph().type(x).dtype)) return call.graph().unary(operation, x);
  return call.graph().binary(Operation::kNotEqual, x, x);
}

Item is_finite(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue x = call.tensor("self");
  if (!at::isFloatingType(graph.type(x).dtype)) return graph.binary(Operation::kEqual, x, x);
  const GraphValue not_finite =
      graph.binary(Operation::kLogicalOr, graph.unary(Operation::kIsNan, x), graph.unary(Operation::kIsInf, x));
  return graph.unary(Operation::kLogicalNot, not_finite);
}

Item where(Call& call) {
  if (!call.has("self")) refuse_call("it gives places instead of values");
  const GraphValue condition = call.operand("condition", at::kBool);
  return call.graph().select(condition, call.operand("self", call.dtype()), call.operand("other", call.dtype()));
}

Item masked_fill(Call& call) {
  return call.graph().select(call.tensor("mask"), call.operand("value", call.dtype()), call.tensor("self"));
}

// NaN and the infinities become numbers: zero and the greatest and least of the dtype, where none are given.
Item nan_to_num(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue x = call.tensor("self");
  if (!at::isFloatingType(call.dtype())) return x;
  const bool is_double = call.dtype() == at::kDouble;
  if (!is_double && call.dtype() != at::kFloat) refuse_call("it is of ", call.dtype());
  const double greatest = is_double ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
  const auto number = [&](const char* name, double otherwise) {
    return graph.scalar(call.number_or(name, otherwise), call.dtype());
  };
  const GraphValue is_above = graph.binary(Operation::kGreater, x, 0);
  const GraphValue bound = graph.select(is_above, number("posinf", greatest), number("neginf", -greatest));
  const GraphValue finite = graph.select(graph.unary(Operation::kIsInf, x), bound, x);
  return graph.select(graph.unary(Operation::kIsNan, x), number("nan", 0), finite);
}

}  // namespace

void add_comparisons(ImportTable& table) {
  table.insert({{"nan_to_num", nan_to_num},
                {"gt", compare<Operation::kGreater>},
                {"ge", compare<Operation::kGreaterEqual>},
                {"lt", compare<Operation::kLess>},
                {"le", compare<Operation::kLessEqual>},
                {"eq", compare<Operation::kEqual>},
                {"ne", compare<Operation::kNotEqual>},
                {"greater", compare<Operation::kGreater>},
                {"greater_equal", compare<Operation::kGreaterEqual>},
                {"less", compare<Operation::kLess>},
                {"less_equal", compare<Operation::kLessEqual>},
                {"not_equal", compare<Operation::kNotEqual>},
                {"logical_and", logical<Operation::kLogicalAnd>},
                {"logical_or", logical<Operation::kLogicalOr>},
                {"logical_xor", logical<Operation::kLogicalXor>},
                {"logical_not", logical_not},
                {"bitwise_and", bitwise<Operation::kLogicalAnd, Operation::kBitwiseAnd>},
                {"bitwise_or", bitwise<Operation::kLogicalOr, Operation::kBitwiseOr>},
                {"bitwise_xor", bitwise<Operation::kLogicalXor, Operation::kBitwiseXor>},
                {"__and__", bitwise<Operation::kLogicalAnd, Operation::kBitwiseAnd>},
                {"__or__", bitwise<Operation::kLogicalOr, Operation::kBitwiseOr>},
                {"__xor__", bitwise<Operation::kLogicalXor, Operation::kBitwiseXor>},
                {"bitwise_not", bitwise_not},
                {"isnan", classify<Operation::kIsNan>},
                {"isinf", classify<Operation::kIsInf>},
                {"isfinite", is_finite},
                {"where", where},
                {"masked_fill", masked_fill}});
}

}  // namespace belfry::internal
