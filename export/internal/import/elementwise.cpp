// Arithmetic, element by element.
#include <cmath>

#include "export/internal/import/import_table.h"

namespace belfry::internal {
namespace {

// LibTorch promotes; a graph does not: the operand takes the dtype of the result first.
template <Operation operation>
Item unary(Call& call) {
  return call.graph().unary(operation, call.operand("self", call.dtype()));
}

// Integers are whole already.
template <Operation operation>
Item to_whole(Call& call) {
  if (call.has("decimals") && call.integer("decimals") != 0) refuse_call("it rounds to decimals");
  const GraphValue x = call.tensor("self");
  return at::isIntegralType(call.dtype(), true) ? x : call.graph().unary(operation, x);
}

template <Operation operation>
Item binary(Call& call) {
  return call.graph().binary(operation, call.operand("self", call.dtype()), call.operand("other", call.dtype()));
}

// log to another base.
Item scaled_log(Call& call, double base) {
  const GraphValue log = call.graph().unary(Operation::kLog, call.operand("self", call.dtype()));
  return call.graph().binary(Operation::kMultiply, log, 1 / std::log(base));
}

Item log2(Call& call) { return scaled_log(call, 2); }
Item log10(Call& call) { return scaled_log(call, 10); }

GraphValue scaled(Call& call, std::string_view name, std::string_view factor) {
  const GraphValue x = call.operand(name, call.dtype());
  if (!call.has(factor) || call.number(factor) == 1) return x;
  return call.graph().binary(Operation::kMultiply, x, call.operand(factor, call.dtype()));
}

// Sizes that the batch recovery computes are added and multiplied as well.
bool is_number(const Call& call) { return !call.gives_tensor(); }

Item size_of(const Extent& extent) {
  if (const auto* number = std::get_if<int64_t>(&extent)) return *number;
  return std::get<GraphValue>(extent);
}

Item add(Call& call) {
  if (is_number(call)) return size_of(call.graph().sum(call.extent("a"), call.extent("b")));
  const GraphValue a = call.operand("self", call.dtype());
  const GraphValue b = scaled(call, "other", "alpha");
  return call.graph().binary(call.dtype() == at::kBool ? Operation::kLogicalOr : Operation::kAdd, a, b);
}

Item multiply(Call& call) {
  if (is_number(call)) return size_of(call.graph().product(call.extent("a"), call.extent("b")));
  const Operation operation = call.dtype() == at::kBool ? Operation::kLogicalAnd : Operation::kMultiply;
  return call.graph().binary(operation, call.operand("self", call.dtype()), call.operand("other", call.dtype()));
}

Item subtract(Call& call) {
  return call.graph().binary(Operation::kSubtract, call.operand("self", call.dtype()), scaled(call, "other", "alpha"));
}

Item reverse_subtract(Call& call) {
  if (call.number_or("alpha", 1) != 1) refuse_call("it has an alpha");
  return call.graph().binary(Operation::kSubtract, call.operand("other", call.dtype()),
                             call.operand("self", call.dtype()));
}

// Toward zero.
GraphValue truncated(GraphBuilder& graph, GraphValue x) {
  const GraphValue negative = graph.binary(Operation::kLess, x, 0);
  return graph.select(negative, graph.unary(Operation::kCeil, x), graph.unary(Operation::kFloor, x));
}

// LibTorch's floor division of floats is not floor(a / b): 1.0 / 0.1 rounds to 10, but 0.1 goes into 1.0 nine times. By
// the remainder, which is exact; a divisor of zero gives what division gives.
GraphValue floor_quotient(GraphBuilder& graph, GraphValue a, GraphValue b) {
  const GraphValue rest = graph.binary(Operation::kFloorModulo, a, b);
  const GraphValue whole = graph.binary(Operation::kDivide, graph.binary(Operation::kSubtract, a, rest), b);
  const GraphValue is_zero = graph.binary(Operation::kEqual, b, 0);
  return graph.select(is_zero, graph.binary(Operation::kDivide, a, b), graph.unary(Operation::kRound, whole));
}

GraphValue floor_division(Call& call) {
  const GraphValue a = call.operand("self", call.dtype());
  const GraphValue b = call.operand("other", call.dtype());
  if (at::isFloatingType(call.dtype())) return floor_quotient(call.graph(), a, b);
  return call.graph().binary(Operation::kFloorDivide, a, b);
}

Item divide(Call& call) {
  const std::string mode = call.text_or("rounding_mode", "");
  if (mode == "floor") return floor_division(call);
  const GraphValue a = call.operand("self", call.dtype());
  const GraphValue b = call.operand("other", call.dtype());
  if (mode.empty()) return call.graph().binary(Operation::kDivide, a, b);
  if (!at::isFloatingType(call.dtype())) return call.graph().binary(Operation::kTruncateDivide, a, b);
  return truncated(call.graph(), call.graph().binary(Operation::kDivide, a, b));
}

Item floor_divide(Call& call) { return floor_division(call); }

Item truncate(Call& call) {
  const GraphValue x = call.tensor("self");
  return at::isFloatingType(call.dtype()) ? truncated(call.graph(), x) : x;
}

Item power(Call& call) {
  const GraphValue base = call.operand("self", call.dtype());
  const auto* exponent = call.item("exponent").get<int64_t>();
  if (exponent && *exponent == 2) return call.graph().unary(Operation::kSquare, base);
  return call.graph().binary(Operation::kPower, base, call.operand("exponent", call.dtype()));
}

// self + value * tensor1 (times or by) tensor2.
Item add_product(Call& call, Operation operation) {
  GraphBuilder& graph = call.graph();
  GraphValue term =
      graph.binary(operation, call.operand("tensor1", call.dtype()), call.operand("tensor2", call.dtype()));
  if (call.number_or("value", 1) != 1) {
    term = graph.binary(Operation::kMultiply, term, call.operand("value", call.dtype()));
  }
  return graph.binary(Operation::kAdd, call.operand("self", call.dtype()), term);
}

Item addcmul(Call& call) { return add_product(call, Operation::kMultiply); }
Item addcdiv(Call& call) { return add_product(call, Operation::kDivide); }

Item lerp(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue start = call.tensor("self");
  const GraphValue way = graph.binary(Operation::kSubtract, call.tensor("end"), start);
  const GraphValue part = graph.binary(Operation::kMultiply, call.operand("weight", call.dtype()), way);
  return graph.binary(Operation::kAdd, start, part);
}

GraphValue bounded(Call& call, std::string_view low, std::string_view high) {
  GraphValue x = call.operand("self", call.dtype());
  if (call.has(low)) x = call.graph().binary(Operation::kMaximum, x, call.operand(low, call.dtype()));
  if (call.has(high)) x = call.graph().binary(Operation::kMinimum, x, call.operand(high, call.dtype()));
  return x;
}

Item clamp(Call& call) { return bounded(call, "min", "max"); }
Item hardtanh(Call& call) { return bounded(call, "min_val", "max_val"); }

Item number_itself(Call& call) { return call.item(call.has("a") ? "a" : "self"); }

}  // namespace

void add_elementwise(ImportTable& table) {
  table.insert({{"abs", unary<Operation::kAbs>},
                {"neg", unary<Operation::kNegate>},
                {"negative", unary<Operation::kNegate>},
                {"sign", unary<Operation::kSign>},
                {"exp", unary<Operation::kExp>},
                {"expm1", unary<Operation::kExpm1>},
                {"log", unary<Operation::kLog>},
                {"log1p", unary<Operation::kLog1p>},
                {"sqrt", unary<Operation::kSqrt>},
                {"rsqrt", unary<Operation::kRsqrt>},
                {"reciprocal", unary<Operation::kReciprocal>},
                {"square", unary<Operation::kSquare>},
                {"sin", unary<Operation::kSin>},
                {"cos", unary<Operation::kCos>},
                {"erf", unary<Operation::kErf>},
                {"floor", to_whole<Operation::kFloor>},
                {"ceil", to_whole<Operation::kCeil>},
                {"round", to_whole<Operation::kRound>}});
  table.insert({{"log2", log2},
                {"log10", log10},
                {"add", add},
                {"sub", subtract},
                {"subtract", subtract},
                {"rsub", reverse_subtract},
                {"mul", multiply},
                {"multiply", multiply},
                {"div", divide},
                {"divide", divide},
                {"true_divide", divide},
                {"floor_divide", floor_divide},
                {"remainder", binary<Operation::kFloorModulo>},
                {"trunc", truncate},
                {"pow", power},
                {"maximum", binary<Operation::kMaximum>},
                {"minimum", binary<Operation::kMinimum>},
                {"atan2", binary<Operation::kAtan2>},
                {"addcmul", addcmul},
                {"addcdiv", addcdiv},
                {"lerp", lerp},
                {"clamp", clamp},
                {"clip", clamp},
                {"clamp_min", clamp},
                {"clamp_max", clamp},
                {"hardtanh", hardtanh},
                {"Int", number_itself},
                {"ScalarImplicit", number_itself},
                {"IntImplicit", number_itself}});
}

}  // namespace belfry::internal
