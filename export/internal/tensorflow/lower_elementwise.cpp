// Operations on each element.
#include <ATen/ATen.h>

#include "core/error.h"
#include "export/internal/tensorflow/lowering.h"

namespace belfry::internal {
namespace {

const char* name_of(Operation operation) {
  static const std::unordered_map<Operation, const char*> names{{Operation::kAbs, "Abs"},
                                                                {Operation::kNegate, "Neg"},
                                                                {Operation::kSign, "Sign"},
                                                                {Operation::kExp, "Exp"},
                                                                {Operation::kExpm1, "Expm1"},
                                                                {Operation::kLog, "Log"},
                                                                {Operation::kLog1p, "Log1p"},
                                                                {Operation::kSqrt, "Sqrt"},
                                                                {Operation::kRsqrt, "Rsqrt"},
                                                                {Operation::kReciprocal, "Reciprocal"},
                                                                {Operation::kSquare, "Square"},
                                                                {Operation::kSin, "Sin"},
                                                                {Operation::kCos, "Cos"},
                                                                {Operation::kErf, "Erf"},
                                                                {Operation::kFloor, "Floor"},
                                                                {Operation::kCeil, "Ceil"},
                                                                {Operation::kRound, "Round"},
                                                                {Operation::kSigmoid, "Sigmoid"},
                                                                {Operation::kTanh, "Tanh"},
                                                                {Operation::kRelu, "Relu"},
                                                                {Operation::kSoftplus, "Softplus"},
                                                                {Operation::kBitwiseNot, "Invert"},
                                                                {Operation::kIsNan, "IsNan"},
                                                                {Operation::kIsInf, "IsInf"},
                                                                {Operation::kAdd, "AddV2"},
                                                                {Operation::kSubtract, "Sub"},
                                                                {Operation::kMultiply, "Mul"},
                                                                {Operation::kDivide, "RealDiv"},
                                                                {Operation::kFloorDivide, "FloorDiv"},
                                                                {Operation::kTruncateDivide, "TruncateDiv"},
                                                                {Operation::kFloorModulo, "FloorMod"},
                                                                {Operation::kPower, "Pow"},
                                                                {Operation::kMaximum, "Maximum"},
                                                                {Operation::kMinimum, "Minimum"},
                                                                {Operation::kAtan2, "Atan2"},
                                                                {Operation::kEqual, "Equal"},
                                                                {Operation::kNotEqual, "NotEqual"},
                                                                {Operation::kGreater, "Greater"},
                                                                {Operation::kGreaterEqual, "GreaterEqual"},
                                                                {Operation::kLess, "Less"},
                                                                {Operation::kLessEqual, "LessEqual"},
                                                                {Operation::kLogicalXor, "NotEqual"},
                                                                {Operation::kBitwiseAnd, "BitwiseAnd"},
                                                                {Operation::kBitwiseOr, "BitwiseOr"},
                                                                {Operation::kBitwiseXor, "BitwiseXor"}};
  return names.at(operation);
}

bool gives_bool(Operation operation) {
  const bool compares = operation >= Operation::kEqual && operation <= Operation::kLessEqual;
  return compares || operation == Operation::kIsNan || operation == Operation::kIsInf;
}

void lower_by_name(Lowering& lowering, const GraphNode& node) {
  const char* name = name_of(node.operation);
  const TfTensor x = lowering.kernel_input(node, 0, name);
  TfTensor result = node.inputs.size() == 1 ? lowering.out().unary(name, x)
                                            : lowering.out().binary(name, x, lowering.kernel_input(node, 1, name));
  if (gives_bool(node.operation)) result.dtype = at::kBool;
  lowering.set(node, result);
}

// These have no attribute T: they take bool alone.
void lower_logic(Lowering& lowering, const GraphNode& node) {
  const char* name = node.operation == Operation::kLogicalNot   ? "LogicalNot"
                     : node.operation == Operation::kLogicalAnd ? "LogicalAnd"
                                                                : "LogicalOr";
  const TfNode result = lowering.out().node(name).input(lowering.input(node, 0));
  if (node.inputs.size() == 1) return lowering.set(node, result.output(at::kBool));
  lowering.set(node, TfNode(result).input(lowering.input(node, 1)).output(at::kBool));
}

void lower_select(Lowering& lowering, const GraphNode& node) {
  const c10::ScalarType dtype = lowering.result_type(node).dtype;
  lowering.set(node, lowering.out()
                         .node("SelectV2")
                         .inputs({lowering.input(node, 0), lowering.input(node, 1), lowering.input(node, 2)})
                         .type("T", dtype)
                         .output(dtype));
}

void lower_cast(Lowering& lowering, const GraphNode& node) {
  lowering.set(node, lowering.out().cast(lowering.input(node, 0), lowering.result_type(node).dtype));
}

}  // namespace

void add_elementwise_lowerings(LoweringTable& table) {
  for (auto number = static_cast<int>(Operation::kAbs); number <= static_cast<int>(Operation::kBitwiseXor); ++number) {
    table[static_cast<Operation>(number)] = lower_by_name;
  }
  for (const Operation operation : {Operation::kLogicalNot, Operation::kLogicalAnd, Operation::kLogicalOr}) {
    table[operation] = lower_logic;
  }
  table[Operation::kSelect] = lower_select;
  table[Operation::kCast] = lower_cast;
}

}  // namespace belfry::internal
