#include <limits>

#include "export_cases.h"

namespace belfry::testing {
namespace {

namespace F = torch::nn::functional;
using at::Tensor;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

ExportCases unary_cases() {
  const auto positive = [](const Tensor& x) { return x.abs() + 0.1; };
  return {of_one("abs", [](const Tensor& x) { return x.abs(); }),
          of_one("neg", [](const Tensor& x) { return -x; }),
          of_one("sign", [](const Tensor& x) { return x.sign(); }),
          of_one("exp", [](const Tensor& x) { return x.exp(); }),
          of_one("expm1", [](const Tensor& x) { return x.expm1(); }),
          of_one("sin", [](const Tensor& x) { return x.sin(); }),
          of_one("cos", [](const Tensor& x) { return x.cos(); }),
          of_one("erf", [](const Tensor& x) { return x.erf(); }),
          of_one("floor", [](const Tensor& x) { return x.floor(); }),
          of_one("ceil", [](const Tensor& x) { return x.ceil(); }),
          of_one("round", [](const Tensor& x) { return (x * 2).round(); }),
          of_one("round_halves", [](const Tensor& x) { return (x.round() + 0.5).round(); }),
          of_one("trunc", [](const Tensor& x) { return (x * 3).trunc(); }),
          of_one("square", [](const Tensor& x) { return x.square(); }),
          of_one("reciprocal", [=](const Tensor& x) { return positive(x).reciprocal(); }),
          of_one("sqrt", [=](const Tensor& x) { return positive(x).sqrt(); }),
          of_one("rsqrt", [=](const Tensor& x) { return positive(x).rsqrt(); }),
          of_one("log", [=](const Tensor& x) { return positive(x).log(); }),
          of_one("log1p", [=](const Tensor& x) { return positive(x).log1p(); }),
          of_one("log2", [=](const Tensor& x) { return positive(x).log2(); }),
          of_one("log10", [=](const Tensor& x) { return positive(x).log10(); }),
          of_one("tan", [](const Tensor& x) { return x.tanh().tan(); }),
          of_one("atan", [](const Tensor& x) { return (x * 3).atan(); }),
          of_one("exp2", [](const Tensor& x) { return x.exp2(); }),
          of_one("logit", [](const Tensor& x) { return torch::logit(x.sigmoid()); }),
          of_one("logit_bounded", [](const Tensor& x) { return torch::logit(x, 1e-3); }),
          of_one("nan_to_num", [=](const Tensor& x) { return torch::nan_to_num(x.log() / x.round(), 0.5); }),
          of_one("nan_to_num_bounds", [=](const Tensor& x) { return torch::nan_to_num(x / x.round(), 0, 9, -8); }),
          of_one("absolute", [](const Tensor& x) { return x.absolute().positive().clip(0.1, 2); }),
          of_one("clamp", [](const Tensor& x) { return x.clamp(-0.5, 0.5); }),
          of_one("clip", [](const Tensor& x) { return at::clip(x, -0.5, 0.5); }),
          of_one("clamp_min", [](const Tensor& x) { return x.clamp_min(0.1); }),
          of_one("clamp_max", [](const Tensor& x) { return x.clamp_max(0.1); }),
          of_one(
              "clamp_int", [](const Tensor& x) { return x.clamp(2, 5); }, ids(9, {-1, 3})),
          of_one(
              "exp_of_ids", [](const Tensor& x) { return x.exp(); }, ids(4, {-1, 3})),
          of_one("in_place", [](const Tensor& x) { return (x * 2).add_(1).mul_(3).relu_(); })};
}

ExportCases activation_cases() {
  return {of_one("relu", [](const Tensor& x) { return x.relu(); }),
          of_one("relu6", [](const Tensor& x) { return F::relu6(x * 5); }),
          of_one("sigmoid", [](const Tensor& x) { return x.sigmoid(); }),
          of_one("tanh", [](const Tensor& x) { return x.tanh(); }),
          of_one("gelu", [](const Tensor& x) { return at::gelu(x); }),
          of_one("gelu_tanh", [](const Tensor& x) { return at::gelu(x, "tanh"); }),
          of_one("silu", [](const Tensor& x) { return at::silu(x); }),
          of_one("elu", [](const Tensor& x) { return F::elu(x, F::ELUFuncOptions().alpha(0.7)); }),
          of_one("celu", [](const Tensor& x) { return at::celu(x, 0.8); }),
          of_one("selu", [](const Tensor& x) { return at::selu(x); }),
          of_one("hardshrink", [](const Tensor& x) { return torch::hardshrink(x, 0.7); }),
          of_one("softshrink", [](const Tensor& x) { return torch::softshrink(x, 0.7); }),
          of_one("rrelu", [](const Tensor& x) { return torch::rrelu(x); }),
          of_one("leaky_relu", [](const Tensor& x) { return at::leaky_relu(x, 0.2); }),
          of_one("hardtanh", [](const Tensor& x) { return at::hardtanh(x, -0.5, 0.7); }),
          of_one("hardsigmoid", [](const Tensor& x) { return at::hardsigmoid(x * 3); }),
          of_one("hardswish", [](const Tensor& x) { return at::hardswish(x * 3); }),
          of_one("softplus", [](const Tensor& x) { return at::softplus(x * 9); }),
          of_one("softplus_beta", [](const Tensor& x) { return at::softplus(x, 2.5); }),
          of_one("softplus_threshold", [](const Tensor& x) { return at::softplus(x * 3, 1.5, 1); }),
          of_one("mish", [](const Tensor& x) { return at::mish(x); }),
          of_one("log_sigmoid", [](const Tensor& x) { return at::log_sigmoid(x); }),
          of_one("softsign", [](const Tensor& x) { return F::softsign(x); }),
          of_one("threshold", [](const Tensor& x) { return at::threshold(x, 0.2, -3); }),
          of_one("glu", [](const Tensor& x) { return at::glu(x, 1); }),
          of_one("softmax", [](const Tensor& x) { return x.softmax(-1); }),
          of_one("softmax_middle", [](const Tensor& x) { return x.softmax(1); }),
          of_one("softmax_rows", [](const Tensor& x) { return x.softmax(0); }),
          of_one("softmax_double", [](const Tensor& x) { return x.softmax(-1, torch::kDouble); }),
          of_one("log_softmax", [](const Tensor& x) { return x.log_softmax(1); }),
          of_module("prelu", torch::nn::PReLU(torch::nn::PReLUOptions().num_parameters(4))),
          of_module("prelu_flat", torch::nn::PReLU(), floats({-1, 5}))};
}

ExportCases arithmetic_cases() {
  return {of_two("add", [](const Tensor& a, const Tensor& b) { return a + b; }),
          of_two("add_alpha", [](const Tensor& a, const Tensor& b) { return at::add(a, b, 2.5); }),
          of_two("sub", [](const Tensor& a, const Tensor& b) { return a - b; }),
          of_two("sub_alpha", [](const Tensor& a, const Tensor& b) { return at::sub(a, b, 0.5); }),
          of_two("rsub", [](const Tensor& a, const Tensor& b) { return 1 - a * b; }),
          of_two("mul", [](const Tensor& a, const Tensor& b) { return a * b; }),
          of_two("div", [](const Tensor& a, const Tensor& b) { return a / (b.abs() + 1); }),
          of_two("maximum", [](const Tensor& a, const Tensor& b) { return at::maximum(a, b); }),
          of_two("max_of_two", [](const Tensor& a, const Tensor& b) { return at::max(a, b); }),
          of_two("minimum", [](const Tensor& a, const Tensor& b) { return at::minimum(a, b); }),
          of_two("broadcast", [](const Tensor& a, const Tensor& b) { return a.unsqueeze(1) * b.unsqueeze(2); }),
          of_two("atan2", [](const Tensor& a, const Tensor& b) { return at::atan2(a, b); }),
          of_two("addcmul", [](const Tensor& a, const Tensor& b) { return at::addcmul(a, a, b, 0.5); }),
          of_two("addcdiv", [](const Tensor& a, const Tensor& b) { return at::addcdiv(a, a, b.abs() + 1, 2); }),
          of_two("lerp", [](const Tensor& a, const Tensor& b) { return at::lerp(a, b, 0.3); }),
          of_one("pow2", [](const Tensor& x) { return x.pow(2); }),
          of_one("pow_float", [](const Tensor& x) { return x.abs().pow(2.5); }),
          of_one("pow_of_number", [](const Tensor& x) { return at::pow(2.0, x); }),
          of_two("pow_of_tensor", [](const Tensor& a, const Tensor& b) { return (a.abs() + 0.1).pow(b); }),
          of_one(
              "pow_int", [](const Tensor& x) { return x.pow(3); }, ids(5, {-1, 3})),
          of_one("remainder", [](const Tensor& x) { return at::remainder(x * 5, 3.0); }),
          of_one("remainder_negative", [](const Tensor& x) { return at::remainder(x * 5, -3.0); }),
          of_one(
              "remainder_int", [](const Tensor& x) { return at::remainder(x - 4, 3); }, ids(9, {-1, 3})),
          of_one("div_floor", [](const Tensor& x) { return at::div(x * 5, 3.0, "floor"); }),
          of_one("div_floor_tenths", [](const Tensor& x) { return at::div(x.round(), 0.1, "floor"); }),
          of_one("div_floor_zero", [](const Tensor& x) { return at::div(x, x * 0, "floor"); }),
          of_one("div_trunc", [](const Tensor& x) { return at::div(x * 5, 3.0, "trunc"); }),
          of_one(
              "floor_divide_int", [](const Tensor& x) { return at::floor_divide(x - 4, 2); }, ids(9, {-1, 3})),
          of_one(
              "div_trunc_int", [](const Tensor& x) { return at::div(x - 4, 3, "trunc"); }, ids(9, {-1, 3})),
          of_one(
              "div_int", [](const Tensor& x) { return x / 2; }, ids(9, {-1, 3})),
          of_one(
              "add_float_to_int", [](const Tensor& x) { return x + 0.5; }, ids(9, {-1, 3})),
          of_two(
              "mul_int_by_float", [](const Tensor& a, const Tensor& b) { return a * b; }, ids(9, {-1, 6})),
          of_one("infinities", [](const Tensor& x) { return x.round() / 0 + x * kInfinity; })};
}

ExportCases comparison_cases() {
  return {of_two("comparisons_by_long_names",
                 [](const Tensor& a, const Tensor& b) {
                   return at::greater_equal(a, b).to(torch::kInt) + at::less_equal(a, 0.5).to(torch::kInt) * 2 +
                          at::not_equal(a.round(), b.round()).to(torch::kInt) * 4;
                 }),
          of_two("gt", [](const Tensor& a, const Tensor& b) { return (a > b).to(torch::kFloat); }),
          of_two("ge", [](const Tensor& a, const Tensor& b) { return a >= b; }),
          of_two("lt_number", [](const Tensor& a, const Tensor&) { return a < 0.3; }),
          of_two("le", [](const Tensor& a, const Tensor& b) { return a.round() <= b.round(); }),
          of_two("eq", [](const Tensor& a, const Tensor& b) { return a.round() == b.round(); }),
          of_two("ne", [](const Tensor& a, const Tensor&) { return a.round() != 0; }),
          of_one(
              "gt_float_of_int", [](const Tensor& x) { return x > 2.5; }, ids(5, {-1, 3})),
          of_one("eq_int_of_float", [](const Tensor& x) { return x.round() == 1; }),
          of_two("logic", [](const Tensor& a, const Tensor& b) { return ((a > 0) & (b > 0)) | (~(a > 1) ^ (b > 1)); }),
          of_two("logical",
                 [](const Tensor& a, const Tensor& b) {
                   return at::logical_xor(at::logical_and(a > 0, b > 0),
                                          at::logical_or(b.round(), a > 1).logical_not());
                 }),
          of_two(
              "bits", [](const Tensor& a, const Tensor& b) { return (a & b) | ((~a) ^ 5); }, ids(9, {-1, 3}),
              ids(9, {-1, 3})),
          of_two("where", [](const Tensor& a, const Tensor& b) { return at::where(a > 0, a, b); }),
          of_two("where_number", [](const Tensor& a, const Tensor&) { return at::where(a > 0, a, 0.0); }),
          of_two("masked_fill", [](const Tensor& a, const Tensor& b) { return a.masked_fill(b > 0, -1e9); }),
          of_one("isnan", [](const Tensor& x) { return (x.round() / 0 * 0).isnan(); }),
          of_one("isinf", [](const Tensor& x) { return (x.round() / 0).isinf(); }),
          of_one("isfinite", [](const Tensor& x) { return (x.round() / 0).isfinite(); }),
          of_one("to_int", [](const Tensor& x) { return (x * 3).to(torch::kLong); }),
          of_one("to_int32", [](const Tensor& x) { return (x * 3).to(torch::kInt); }),
          of_one("to_double", [](const Tensor& x) { return x.to(torch::kDouble) * 2; }),
          of_one("to_bool", [](const Tensor& x) { return x.round().to(torch::kBool); }),
          of_one("bool_sum", [](const Tensor& x) { return (x > 0) + (x < -1); })};
}

}  // namespace

ExportCases elementwise_cases() {
  ExportCases all;
  for (const auto part : {unary_cases, activation_cases, arithmetic_cases, comparison_cases}) {
    for (ExportCase& one : part()) all.push_back(std::move(one));
  }
  return all;
}

}  // namespace belfry::testing
