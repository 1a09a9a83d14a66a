// Operations on each element that ONNX has as they are.
#include <ATen/ATen.h>

#include "export/internal/onnx/lowering.h"

namespace belfry::internal::onnx {
namespace {

using Names = std::unordered_map<Operation, const char*>;

const Names& unary_names() {
  static const Names names{{Operation::kAbs, "Abs"},
                           {Operation::kNegate, "Neg"},
                           {Operation::kSign, "Sign"},
                           {Operation::kExp, "Exp"},
                           {Operation::kLog, "Log"},
                           {Operation::kSqrt, "Sqrt"},
                           {Operation::kReciprocal, "Reciprocal"},
                           {Operation::kSin, "Sin"},
                           {Operation::kCos, "Cos"},
                           {Operation::kErf, "Erf"},
                           {Operation::kFloor, "Floor"},
                           {Operation::kCeil, "Ceil"},
                           {Operation::kRound, "Round"},
                           {Operation::kSigmoid, "Sigmoid"},
                           {Operation::kTanh, "Tanh"}};
  return names;
}

const Names& binary_names() {
  static const Names names{{Operation::kAdd, "Add"},    {Operation::kSubtract, "Sub"}, {Operation::kMultiply, "Mul"},
                           {Operation::kDivide, "Div"}, {Operation::kPower, "Pow"},    {Operation::kMaximum, "Max"},
                           {Operation::kMinimum, "Min"}};
  return names;
}

const Names& comparison_names() {
  static const Names names{{Operation::kEqual, "Equal"},
                           {Operation::kGreater, "Greater"},
                           {Operation::kGreaterEqual, "GreaterOrEqual"},
                           {Operation::kLess, "Less"},
                           {Operation::kLessEqual, "LessOrEqual"}};
  return names;
}

const Names& logic_names() {
  static const Names names{
      {Operation::kLogicalAnd, "And"}, {Operation::kLogicalOr, "Or"}, {Operation::kLogicalXor, "Xor"}};
  return names;
}

void lower_unary(Lowering& lowering, const GraphNode& node) {
  lowering.set(node, lowering.out().unary(unary_names().at(node.operation), lowering.input(node, 0)));
}

void lower_binary(Lowering& lowering, const GraphNode& node) {
  const char* name = binary_names().at(node.operation);
  lowering.set(node, lowering.out().binary(name, lowering.input(node, 0), lowering.input(node, 1)));
}

void lower_comparison(Lowering& lowering, const GraphNode& node) {
  const char* name = comparison_names().at(node.operation);
  lowering.set(node, lowering.out().compare(name, lowering.input(node, 0), lowering.input(node, 1)));
}

void lower_not_equal(Lowering& lowering, const GraphNode& node) {
  OnnxBuilder& out = lowering.out();
  lowering.set(node, out.negated(out.compare("Equal", lowering.input(node, 0), lowering.input(node, 1))));
}

void lower_logic(Lowering& lowering, const GraphNode& node) {
  const char* name = logic_names().at(node.operation);
  lowering.set(node, lowering.out().logical(name, lowering.input(node, 0), lowering.input(node, 1)));
}

void lower_not(Lowering& lowering, const GraphNode& node) {
  lowering.set(node, lowering.out().negated(lowering.input(node, 0)));
}

// Of numbers alone: integers are never either, nor are they as floats.
void lower_is_special(Lowering& lowering, const GraphNode& node) {
  const c10::ScalarType dtype = lowering.type(node, 0).dtype == at::kDouble ? at::kDouble : at::kFloat;
  const char* name = node.operation == Operation::kIsNan ? "IsNaN" : "IsInf";
  lowering.set(node, lowering.out().node(name, {lowering.input(node, 0, dtype)}).output(at::kBool));
}

void lower_select(Lowering& lowering, const GraphNode& node) {
  lowering.set(node, lowering.out().select(lowering.input(node, 0), lowering.input(node, 1), lowering.input(node, 2)));
}

void lower_cast(Lowering& lowering, const GraphNode& node) {
  lowering.set(node, lowering.out().cast(lowering.input(node, 0), lowering.result_type(node).dtype));
}

void add_all(LoweringTable& table, const Names& names, LowerFunction function) {
  for (const auto& [operation, name] : names) table[operation] = function;
}

}  // namespace

void add_elementwise_lowerings(LoweringTable& table) {
  add_all(table, unary_names(), lower_unary);
  add_all(table, binary_names(), lower_binary);
  add_all(table, comparison_names(), lower_comparison);
  add_all(table, logic_names(), lower_logic);
  table.insert({{Operation::kNotEqual, lower_not_equal},
                {Operation::kLogicalNot, lower_not},
                {Operation::kIsNan, lower_is_special},
                {Operation::kIsInf, lower_is_special},
                {Operation::kSelect, lower_select},
                {Operation::kCast, lower_cast}});
}

}  // namespace belfry::internal::onnx
