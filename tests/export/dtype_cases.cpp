#include "export_cases.h"

namespace belfry::testing {
namespace {

namespace nn = torch::nn;
using at::Tensor;

TensorSpec doubles(std::vector<int64_t> shape) { return {.dtype = at::kDouble, .shape = std::move(shape)}; }

TensorSpec small(c10::ScalarType dtype, std::vector<int64_t> shape) {
  return {.dtype = dtype, .shape = std::move(shape), .high = 9};
}

template <class Module>
ExportCase in_double(const std::string& name, Module module, std::vector<int64_t> shape) {
  module->to(torch::kDouble);
  return of_module(name, std::move(module), doubles(std::move(shape)));
}

const std::vector<int64_t> kRows{-1, 4, 6};

ExportCases double_cases() {
  const auto resized = [](const Tensor& x) { return at::upsample_bilinear2d(x, std::vector<int64_t>{7, 5}, false); };
  return {
      in_double("double_linear", nn::Linear(6, 3), {-1, 6}),
      in_double("double_conv", nn::Conv2d(nn::Conv2dOptions(3, 4, 3).padding(1)), {-1, 3, 5, 6}),
      in_double("double_conv_transpose", nn::ConvTranspose2d(nn::ConvTranspose2dOptions(3, 2, 3).stride(2)),
                {-1, 3, 5, 6}),
      in_double("double_max_pool", nn::MaxPool2d(2), {-1, 3, 5, 6}),
      in_double("double_avg_pool", nn::AvgPool2d(2), {-1, 3, 5, 6}),
      in_double("double_batch_norm", nn::BatchNorm1d(4), kRows),
      in_double("double_layer_norm", nn::LayerNorm(nn::LayerNormOptions({6})), kRows),
      in_double("double_gru", nn::GRUCell(6, 5), {-1, 6}),
      in_double("double_rnn", nn::RNNCell(6, 5), {-1, 6}),
      of_one(
          "double_gelu", [](const Tensor& x) { return at::gelu(x); }, doubles(kRows)),
      of_one(
          "double_softplus", [](const Tensor& x) { return at::softplus(x * 9); }, doubles(kRows)),
      of_one(
          "double_elu", [](const Tensor& x) { return at::elu(x); }, doubles(kRows)),
      of_one(
          "double_remainder", [](const Tensor& x) { return at::remainder(x * 5, -3.0); }, doubles(kRows)),
      of_one(
          "double_sums", [](const Tensor& x) { return x.prod(1) + x.cumsum(1).sum(1) + x.amax(1) + x.std(1); },
          doubles(kRows)),
      of_one(
          "double_sort", [](const Tensor& x) { return std::get<0>(x.sort(-1)); }, doubles(kRows)),
      of_two(
          "double_atan2", [](const Tensor& a, const Tensor& b) { return at::atan2(a, b); }, doubles(kRows),
          doubles(kRows)),
      of_one("double_resize", resized, doubles({-1, 3, 5, 6})),
  };
}

ExportCases small_cases() {
  return {
      of_one(
          "int32_arithmetic", [](const Tensor& x) { return (x * 3 - x.square()).clamp(-20, 20).abs(); },
          small(at::kInt, kRows)),
      of_one(
          "int32_band", [](const Tensor& x) { return x.tril(1) + x.triu(); }, small(at::kInt, kRows)),
      of_one(
          "int32_places", [](const Tensor& x) { return x.argmax(2) + x.argmin(2); }, small(at::kInt, kRows)),
      of_one(
          "int64_relu", [](const Tensor& x) { return (x - 4).relu(); }, small(at::kLong, kRows)),
      of_one(
          "int64_max", [](const Tensor& x) { return x.amax(1) - std::get<0>(x.min(1)); }, small(at::kLong, kRows)),
      of_one(
          "int64_bits", [](const Tensor& x) { return (x - 4).bitwise_and(-3).bitwise_or(x.bitwise_not()); },
          small(at::kLong, kRows)),
      of_one(
          "uint8_arithmetic", [](const Tensor& x) { return x * 2 + 1; }, small(at::kByte, kRows)),
      of_one(
          "uint8_pixels", [](const Tensor& x) { return x.to(torch::kFloat) / 255; }, small(at::kByte, kRows)),
      of_one("bool_views",
             [](const Tensor& x) {
               return at::where(x > 0, x > 1, x < -1).flip({1}).repeat({1, 2, 1});
             }),
      of_one(
          "half_arithmetic", [](const Tensor& x) { return (x * 2 + 1).relu(); }, small(at::kHalf, kRows)),
      of_one("bool_tril", [](const Tensor& x) { return (x > 0).tril(); }),
  };
}

}  // namespace

ExportCases dtype_cases() {
  ExportCases all = double_cases();
  for (ExportCase& one : small_cases()) all.push_back(std::move(one));
  return all;
}

}  // namespace belfry::testing
