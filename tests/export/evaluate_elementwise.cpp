#include "evaluate_operations.h"

#include <torch/torch.h>

#include "core/error.h"

namespace belfry::testing {

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

}  // namespace belfry::testing
