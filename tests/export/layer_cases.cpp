#include "export_cases.h"

namespace belfry::testing {
namespace {

namespace F = torch::nn::functional;
namespace nn = torch::nn;
using at::Tensor;

const std::vector<int64_t> kImage{-1, 3, 9, 10};

ExportCases product_cases() {
  const Tensor matrix = torch::randn({6, 3});
  const Tensor vector = torch::randn({6});
  const Tensor bias = torch::randn({3});
  return {
      of_two(
          "matmul", [](const Tensor& a, const Tensor& b) { return at::matmul(a, b); }, floats({-1, 4, 6}),
          floats({-1, 6, 3})),
      of_one("matmul_constant", [=](const Tensor& x) { return at::matmul(x, matrix); }),
      of_one("matmul_vector", [=](const Tensor& x) { return at::matmul(x, vector); }),
      of_one(
          "vector_matmul", [=](const Tensor& x) { return at::matmul(bias, x); }, floats({-1, 3, 2})),
      of_one(
          "mm", [=](const Tensor& x) { return x.mm(matrix); }, floats({-1, 6})),
      of_one(
          "mv", [=](const Tensor& x) { return x.mv(vector); }, floats({-1, 6})),
      of_two(
          "bmm", [](const Tensor& a, const Tensor& b) { return a.bmm(b); }, floats({-1, 4, 6}), floats({-1, 6, 3})),
      of_two(
          "baddbmm", [](const Tensor& a, const Tensor& b) { return at::baddbmm(a.bmm(b), a, b, 0.5, 2); },
          floats({-1, 4, 6}), floats({-1, 6, 3})),
      of_one(
          "addmm", [=](const Tensor& x) { return at::addmm(bias, x, matrix, 1.5); }, floats({-1, 6})),
      of_one(
          "addmm_bias_for_all",
          [=](const Tensor& x) { return at::addmm(at::ones({1}), x, matrix.t().contiguous().t()); }, floats({-1, 6})),
      of_one("linear_bias_for_all",
             [=](const Tensor& x) { return at::linear(x, matrix.t().contiguous(), at::ones({1})); }),
      of_two(
          "einsum",
          [](const Tensor& a, const Tensor& b) {
            return at::einsum("bij, bjk -> bik", {a, b});
          },
          floats({-1, 4, 6}), floats({-1, 6, 3})),
      of_one("einsum_implicit",
             [](const Tensor& x) {
               return at::einsum("bij,bkj", {x, x});
             }),
      of_module("linear", nn::Linear(6, 3), floats({-1, 6})),
      of_module("linear_rank3", nn::Linear(6, 3)),
      of_module("linear_no_bias", nn::Linear(nn::LinearOptions(6, 3).bias(false))),
  };
}

ExportCases convolution_cases() {
  return {
      of_module("conv2d", nn::Conv2d(nn::Conv2dOptions(3, 4, 3).padding(1)), floats(kImage)),
      of_module("conv2d_options",
                nn::Conv2d(nn::Conv2dOptions(3, 4, {3, 2}).stride({2, 1}).padding({1, 0}).dilation({1, 2})),
                floats(kImage)),
      of_module("conv2d_groups", nn::Conv2d(nn::Conv2dOptions(4, 6, 3).groups(2)), floats({-1, 4, 9, 10})),
      of_module("conv2d_depthwise", nn::Conv2d(nn::Conv2dOptions(4, 8, 3).groups(4).padding(1)),
                floats({-1, 4, 9, 10})),
      of_module("conv2d_depthwise_strides", nn::Conv2d(nn::Conv2dOptions(4, 4, 3).groups(4).stride({2, 1})),
                floats({-1, 4, 9, 10})),
      of_module("conv2d_depthwise_dilated", nn::Conv2d(nn::Conv2dOptions(4, 4, 3).groups(4).dilation(2)),
                floats({-1, 4, 9, 10})),
      of_module("conv2d_same", nn::Conv2d(nn::Conv2dOptions(3, 4, 4).padding(torch::kSame)), floats(kImage)),
      of_module("conv2d_reflect", nn::Conv2d(nn::Conv2dOptions(3, 4, 3).padding(1).padding_mode(torch::kReflect)),
                floats(kImage)),
      of_module("conv2d_no_bias", nn::Conv2d(nn::Conv2dOptions(3, 4, 1).bias(false)), floats(kImage)),
      of_module("conv1d", nn::Conv1d(nn::Conv1dOptions(4, 5, 3).padding(2).stride(2))),
      of_module("conv1d_groups", nn::Conv1d(nn::Conv1dOptions(4, 4, 3).groups(2).padding(1))),
      of_module("conv1d_depthwise", nn::Conv1d(nn::Conv1dOptions(4, 8, 3).groups(4).padding(1))),
      of_module("conv1d_depthwise_dilated", nn::Conv1d(nn::Conv1dOptions(4, 4, 3).groups(4).dilation(2))),
      of_module("conv3d", nn::Conv3d(nn::Conv3dOptions(2, 3, {2, 3, 3}).padding({0, 1, 1})), floats({-1, 2, 4, 6, 6})),
      of_module("conv_transpose2d",
                nn::ConvTranspose2d(nn::ConvTranspose2dOptions(3, 4, 3).stride(2).padding(1).output_padding(1)),
                floats(kImage)),
      of_module("conv_transpose2d_groups", nn::ConvTranspose2d(nn::ConvTranspose2dOptions(4, 6, 3).groups(2).stride(2)),
                floats({-1, 4, 5, 5})),
      of_module("conv_transpose1d", nn::ConvTranspose1d(nn::ConvTranspose1dOptions(4, 5, 4).stride(2).padding(1))),
  };
}

ExportCases pooling_cases() {
  return {
      of_module("max_pool2d", nn::MaxPool2d(2), floats(kImage)),
      of_module("max_pool2d_padding", nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2).padding(1)), floats(kImage)),
      of_module("max_pool2d_ceil", nn::MaxPool2d(nn::MaxPool2dOptions(2).stride(2).ceil_mode(true)), floats(kImage)),
      of_module("max_pool1d", nn::MaxPool1d(2)),
      of_module("max_pool3d", nn::MaxPool3d(2), floats({-1, 2, 4, 6, 6})),
      of_module("avg_pool2d", nn::AvgPool2d(nn::AvgPool2dOptions(3).stride(2).padding(1)), floats(kImage)),
      of_module("avg_pool2d_without_padding",
                nn::AvgPool2d(nn::AvgPool2dOptions(3).stride(2).padding(1).count_include_pad(false)), floats(kImage)),
      of_module("avg_pool2d_ceil", nn::AvgPool2d(nn::AvgPool2dOptions(2).stride(2).ceil_mode(true)), floats(kImage)),
      of_module("avg_pool2d_ceil_padding", nn::AvgPool2d(nn::AvgPool2dOptions(3).stride(2).padding(1).ceil_mode(true)),
                floats(kImage)),
      of_module("avg_pool2d_divisor", nn::AvgPool2d(nn::AvgPool2dOptions(2).padding(1).divisor_override(3)),
                floats(kImage)),
      of_module("avg_pool1d", nn::AvgPool1d(2)),
      of_module("avg_pool3d", nn::AvgPool3d(2), floats({-1, 2, 4, 6, 6})),
      of_module("adaptive_avg_pool_one", nn::AdaptiveAvgPool2d(1), floats(kImage)),
      of_module("adaptive_avg_pool", nn::AdaptiveAvgPool2d(nn::AdaptiveAvgPool2dOptions({4, 3})), floats(kImage)),
      of_module("adaptive_avg_pool1d", nn::AdaptiveAvgPool1d(3)),
      of_module("adaptive_max_pool_one", nn::AdaptiveMaxPool2d(1), floats(kImage)),
      of_module("adaptive_max_pool", nn::AdaptiveMaxPool2d(nn::AdaptiveMaxPool2dOptions({3, 5})), floats(kImage)),
  };
}

ExportCases normalization_cases() {
  return {
      of_module("batch_norm", nn::BatchNorm1d(6), floats({-1, 6})),
      of_module("batch_norm_rank3", nn::BatchNorm1d(4)),
      of_module("batch_norm2d", nn::BatchNorm2d(nn::BatchNorm2dOptions(3).eps(1e-3)), floats(kImage)),
      of_module("batch_norm_bare", nn::BatchNorm2d(nn::BatchNorm2dOptions(3).affine(false)), floats(kImage)),
      of_module("batch_norm_of_batch", nn::BatchNorm2d(nn::BatchNorm2dOptions(3).track_running_stats(false)),
                floats(kImage)),
      of_module("layer_norm", nn::LayerNorm(nn::LayerNormOptions({6}))),
      of_module("layer_norm_two_axes", nn::LayerNorm(nn::LayerNormOptions({4, 6}).eps(1e-3))),
      of_module("layer_norm_bare", nn::LayerNorm(nn::LayerNormOptions({6}).elementwise_affine(false))),
      of_module("group_norm", nn::GroupNorm(nn::GroupNormOptions(2, 4)), floats({-1, 4, 5, 5})),
      of_module("group_norm_free_image", nn::GroupNorm(nn::GroupNormOptions(2, 4)), floats({-1, 4, 5, -1})),
      of_module("instance_norm", nn::InstanceNorm2d(nn::InstanceNorm2dOptions(3).affine(true)), floats(kImage)),
      of_module("instance_norm_running",
                nn::InstanceNorm2d(nn::InstanceNorm2dOptions(3).affine(true).track_running_stats(true)),
                floats(kImage)),
      of_module("local_response_norm", nn::LocalResponseNorm(3), floats(kImage)),
      of_one("rms_norm", [](const Tensor& x) { return at::rms_norm(x, {6}); }),
  };
}

Tensor resized(const Tensor& x, F::InterpolateFuncOptions::mode_t mode, std::vector<int64_t> size, bool align = false) {
  auto options = F::InterpolateFuncOptions().size(std::move(size)).mode(mode);
  if (!std::holds_alternative<torch::enumtype::kNearest>(mode)) options.align_corners(align);
  return F::interpolate(x, options);
}

Tensor scaled(const Tensor& x, F::InterpolateFuncOptions::mode_t mode, double scale) {
  auto options = F::InterpolateFuncOptions().scale_factor(std::vector<double>{scale, scale}).mode(mode);
  if (!std::holds_alternative<torch::enumtype::kNearest>(mode)) options.align_corners(false);
  return F::interpolate(x, options);
}

ExportCases resizing_cases() {
  return {
      of_one(
          "nearest_scale", [](const Tensor& x) { return scaled(x, torch::kNearest, 2); }, floats(kImage)),
      of_one(
          "nearest_odd_scale", [](const Tensor& x) { return scaled(x, torch::kNearest, 1.7); }, floats(kImage)),
      of_one(
          "nearest_size",
          [](const Tensor& x) {
            return resized(x, torch::kNearest, {13, 7});
          },
          floats(kImage)),
      of_one("nearest_one_axis", [](const Tensor& x) { return resized(x, torch::kNearest, {9}); }),
      of_one(
          "bilinear_scale", [](const Tensor& x) { return scaled(x, torch::kBilinear, 2); }, floats(kImage)),
      of_one(
          "bilinear_odd_scale", [](const Tensor& x) { return scaled(x, torch::kBilinear, 1.7); }, floats(kImage)),
      of_one(
          "bilinear_size",
          [](const Tensor& x) {
            return resized(x, torch::kBilinear, {13, 7});
          },
          floats(kImage)),
      of_one(
          "bilinear_corners",
          [](const Tensor& x) {
            return resized(x, torch::kBilinear, {13, 7}, true);
          },
          floats(kImage)),
      of_one("linear", [](const Tensor& x) { return resized(x, torch::kLinear, {9}); }),
      of_one(
          "bicubic", [](const Tensor& x) { return scaled(x, torch::kBicubic, 2); }, floats(kImage)),
  };
}

}  // namespace

ExportCases layer_cases() {
  ExportCases all;
  for (const auto part : {product_cases, convolution_cases, pooling_cases, normalization_cases, resizing_cases}) {
    for (ExportCase& one : part()) all.push_back(std::move(one));
  }
  return all;
}

}  // namespace belfry::testing
