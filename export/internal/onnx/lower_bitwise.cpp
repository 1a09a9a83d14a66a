// Operations on bits, which ONNX has from opset 18 on: here they are arithmetic.
#include <ATen/ATen.h>

#include <limits>

#include "export/internal/onnx/lowering.h"

namespace belfry::internal::onnx {
namespace {

constexpr int64_t kBits = 63;  // of an int64 without its sign

constexpr int64_t kLowBits = 32;

at::Tensor powers(int64_t count) { return at::pow(at::full({count}, 2, at::kLong), at::arange(count, at::kLong)); }

// Each of the bits as zero or one, along a new last axis. ONNX's modulo has the sign of the divisor, so that negative
// numbers are taken as two's complement.
Tensor bits_of(OnnxBuilder& out, const Tensor& x) {
  const Tensor each = out.unsqueeze(x, {-1});
  const Tensor power = out.constant(powers(kBits));
  const auto modulo = [&](const Tensor& a, const Tensor& b) {
    return out.node("Mod", {a, b}).integer("fmod", 0).output(at::kLong);
  };
  const Tensor shifted = out.binary("Div", out.binary("Sub", each, modulo(each, power)), power);
  return modulo(shifted, out.scalar(2, at::kLong));
}

Tensor weighted_sum(OnnxBuilder& out, const Tensor& bits, const at::Tensor& weights) {
  return out.reduce("ReduceSum", out.binary("Mul", bits, out.constant(weights)), {-1}, false);
}

// In two parts: ONNX Runtime adds integers up as floating point, which is exact to 53 bits.
Tensor number_of(OnnxBuilder& out, const Tensor& bits) {
  const at::Tensor low = powers(kLowBits);
  const at::Tensor high = powers(kBits - kLowBits);
  const Tensor low_part = weighted_sum(out, bits, at::cat({low, at::zeros_like(high)}));
  const Tensor high_part = weighted_sum(out, bits, at::cat({at::zeros_like(low), high}));
  return out.binary("Add", low_part, out.binary("Mul", high_part, int64_t{1} << kLowBits));
}

Tensor and_of(OnnxBuilder& out, const Tensor& a, const Tensor& b) {
  const Tensor value = number_of(out, out.binary("Mul", bits_of(out, a), bits_of(out, b)));
  const Tensor negative = out.logical("And", out.compare("Less", a, 0), out.compare("Less", b, 0));
  const Tensor sign = out.scalar(std::numeric_limits<int64_t>::min(), at::kLong);
  return out.binary("Add", value, out.select(negative, sign, out.scalar(0, at::kLong)));
}

// a + b = (a ^ b) + 2 (a & b) = (a | b) + (a & b).
void lower_bits(Lowering& lowering, const GraphNode& node) {
  OnnxBuilder& out = lowering.out();
  const Tensor a = lowering.input(node, 0, at::kLong);
  const Tensor b = lowering.input(node, 1, at::kLong);
  const Tensor common = and_of(out, a, b);
  if (node.operation == Operation::kBitwiseAnd) return lowering.set(node, common);
  const Tensor either = out.binary("Sub", out.binary("Add", a, b), common);
  if (node.operation == Operation::kBitwiseOr) return lowering.set(node, either);
  lowering.set(node, out.binary("Sub", either, common));
}

void lower_bitwise_not(Lowering& lowering, const GraphNode& node) {
  OnnxBuilder& out = lowering.out();
  lowering.set(node, out.binary("Sub", out.scalar(-1, at::kLong), lowering.input(node, 0, at::kLong)));
}

}  // namespace

void add_bitwise_lowerings(LoweringTable& table) {
  table.insert({{Operation::kBitwiseNot, lower_bitwise_not},
                {Operation::kBitwiseAnd, lower_bits},
                {Operation::kBitwiseOr, lower_bits},
                {Operation::kBitwiseXor, lower_bits}});
}

}  // namespace belfry::internal::onnx
