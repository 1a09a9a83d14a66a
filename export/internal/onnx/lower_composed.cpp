// Operations on each element that ONNX has in parts alone.
#include <ATen/ATen.h>

#include <numbers>

#include "export/internal/onnx/lowering.h"

namespace belfry::internal::onnx {
namespace {

void lower_rsqrt(Lowering& lowering, const GraphNode& node) {
  lowering.set(node, lowering.out().unary("Reciprocal", lowering.out().unary("Sqrt", lowering.input(node, 0))));
}

void lower_square(Lowering& lowering, const GraphNode& node) {
  const Tensor x = lowering.input(node, 0);
  lowering.set(node, lowering.out().binary("Mul", x, x));
}

void lower_relu(Lowering& lowering, const GraphNode& node) {
  const Tensor x = lowering.input(node, 0);
  OnnxBuilder& out = lowering.out();
  lowering.set(node, at::isFloatingType(x.dtype) ? out.unary("Relu", x) : out.binary("Max", x, 0));
}

// exp(x) - 1 loses digits near zero, where it is 2 t / (1 - t) with t = tanh(x / 2).
void lower_expm1(Lowering& lowering, const GraphNode& node) {
  OnnxBuilder& out = lowering.out();
  const Tensor x = lowering.input(node, 0);
  const Tensor t = out.unary("Tanh", out.binary("Mul", x, 0.5));
  const Tensor near_zero = out.binary("Div", out.binary("Mul", t, 2), out.binary("Sub", out.scalar(1, x.dtype), t));
  const Tensor elsewhere = out.binary("Sub", out.unary("Exp", x), 1);
  lowering.set(node, out.select(out.compare("Less", out.unary("Abs", x), 0.5), near_zero, elsewhere));
}

// log(1 + x) loses the digits of x that 1 + x has no room for: log(u) x / (u - 1) with u = 1 + x makes up for them
// (Kahan). Where u - 1 is x itself, infinities included, nothing was lost; where it is zero, the result is x.
Tensor log1p(OnnxBuilder& out, const Tensor& x) {
  const Tensor u = out.binary("Add", x, 1);
  const Tensor kept = out.binary("Sub", u, 1);
  const Tensor log = out.unary("Log", u);
  const Tensor corrected = out.binary("Div", out.binary("Mul", log, x), kept);
  const Tensor lossy = out.select(out.compare("Equal", kept, 0), x, corrected);
  return out.select(out.compare("Equal", kept, x), log, lossy);
}

void lower_log1p(Lowering& lowering, const GraphNode& node) {
  lowering.set(node, log1p(lowering.out(), lowering.input(node, 0)));
}

// There is no kernel for float64, where it is max(x, 0) + log1p(exp(-|x|)).
void lower_softplus(Lowering& lowering, const GraphNode& node) {
  OnnxBuilder& out = lowering.out();
  const Tensor x = lowering.input(node, 0);
  if (x.dtype != at::kDouble) return lowering.set(node, out.unary("Softplus", x));
  const Tensor rest = log1p(out, out.unary("Exp", out.unary("Neg", out.unary("Abs", x))));
  lowering.set(node, out.binary("Add", out.unary("Relu", x), rest));
}

Tensor modulo(OnnxBuilder& out, const Tensor& a, const Tensor& b, bool like_c) {
  const c10::ScalarType dtype = at::isFloatingType(a.dtype) && a.dtype != at::kDouble ? at::kFloat : a.dtype;
  return out.cast(out.node("Mod", {out.cast(a, dtype), out.cast(b, dtype)}).integer("fmod", like_c).output(dtype),
                  a.dtype);
}

// With the sign of the divisor. ONNX's for floats has that of the dividend, and needs the divisor added where they
// differ.
Tensor floor_modulo(OnnxBuilder& out, const Tensor& a, const Tensor& b) {
  if (!at::isFloatingType(a.dtype)) return modulo(out, a, b, false);
  const Tensor rest = modulo(out, a, b, true);
  const Tensor signs = out.logical("Xor", out.compare("Less", rest, 0), out.compare("Less", b, 0));
  const Tensor is_zero = out.compare("Equal", rest, 0);
  const Tensor wrong = out.logical("And", signs, out.negated(is_zero));
  return out.select(wrong, out.binary("Add", rest, b), rest);
}

void lower_floor_modulo(Lowering& lowering, const GraphNode& node) {
  lowering.set(node, floor_modulo(lowering.out(), lowering.input(node, 0), lowering.input(node, 1)));
}

void lower_floor_divide(Lowering& lowering, const GraphNode& node) {
  OnnxBuilder& out = lowering.out();
  const Tensor a = lowering.input(node, 0);
  const Tensor b = lowering.input(node, 1);
  const Tensor rest = floor_modulo(out, a, b);
  const Tensor quotient = out.binary("Div", out.binary("Sub", a, rest), b);
  lowering.set(node, at::isFloatingType(a.dtype) ? out.unary("Round", quotient) : quotient);
}

// Integers are divided toward zero by ONNX's own division.
void lower_truncate_divide(Lowering& lowering, const GraphNode& node) {
  OnnxBuilder& out = lowering.out();
  const Tensor quotient = out.binary("Div", lowering.input(node, 0), lowering.input(node, 1));
  if (!at::isFloatingType(quotient.dtype)) return lowering.set(node, quotient);
  const Tensor negative = out.compare("Less", quotient, 0);
  lowering.set(node, out.select(negative, out.unary("Ceil", quotient), out.unary("Floor", quotient)));
}

// The smaller over the greater of |x| and |y|; at infinity and at the origin by what LibTorch gives there.
Tensor slope(OnnxBuilder& out, const Tensor& x, const Tensor& y) {
  const Tensor great = out.binary("Max", x, y);
  const Tensor small = out.binary("Min", x, y);
  const Tensor is_diagonal = out.compare("Equal", small, great);
  const Tensor ratio = out.select(is_diagonal, out.scalar(1, x.dtype), out.binary("Div", small, great));
  return out.select(out.compare("Equal", great, 0), out.scalar(0, x.dtype), ratio);
}

// The angle in the first eighth of the plane, carried to the others.
void lower_atan2(Lowering& lowering, const GraphNode& node) {
  OnnxBuilder& out = lowering.out();
  const Tensor y = lowering.input(node, 0);
  const Tensor x = lowering.input(node, 1);
  const Tensor width = out.unary("Abs", x);
  const Tensor height = out.unary("Abs", y);
  const auto from = [&](double angle, const Tensor& other) {
    return out.binary("Sub", out.scalar(angle, x.dtype), other);
  };
  Tensor angle = out.unary("Atan", slope(out, width, height));
  angle = out.select(out.compare("Greater", height, width), from(std::numbers::pi / 2, angle), angle);
  angle = out.select(out.compare("Less", x, 0), from(std::numbers::pi, angle), angle);
  lowering.set(node, out.select(out.compare("Less", y, 0), out.unary("Neg", angle), angle));
}

// How many boundaries are not above x.
void lower_bucketize(Lowering& lowering, const GraphNode& node) {
  OnnxBuilder& out = lowering.out();
  const Tensor x = out.unsqueeze(lowering.input(node, 0), {-1});
  const Tensor above = out.compare("GreaterOrEqual", x, out.constant(node.attributes.tensor("boundaries")));
  lowering.set(node, out.reduce("ReduceSum", out.cast(above, at::kLong), {-1}, false));
}

}  // namespace

void add_composed_lowerings(LoweringTable& table) {
  table.insert({{Operation::kRsqrt, lower_rsqrt},
                {Operation::kSquare, lower_square},
                {Operation::kRelu, lower_relu},
                {Operation::kExpm1, lower_expm1},
                {Operation::kLog1p, lower_log1p},
                {Operation::kSoftplus, lower_softplus},
                {Operation::kFloorModulo, lower_floor_modulo},
                {Operation::kFloorDivide, lower_floor_divide},
                {Operation::kTruncateDivide, lower_truncate_divide},
                {Operation::kAtan2, lower_atan2},
                {Operation::kBucketize, lower_bucketize}});
}

}  // namespace belfry::internal::onnx
