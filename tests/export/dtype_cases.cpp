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
      in_double("double_max_pool3d", nn::MaxPool3d(2), {-1, 2, 4, 6, 6}),
      in_double("double_avg_pool3d", nn::AvgPool3d(2), {-1, 2, 4, 6, 6}),
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

ExportCases bool_cases() {
  const auto masks = [](const std::string& name, const TwoInputs& function) {
    return of_two("bool_" + name, [function](const Tensor& a, const Tensor& b) { return function(a > 0, b > 0); });
  };
  return {
      masks("amax", [](const Tensor& a, const Tensor& b) { return a.amax(1) | b.amin(1); }),
      masks("max", [](const Tensor& a, const Tensor& b) { return std::get<0>(a.max(1)) ^ std::get<0>(b.min(1)); }),
      masks("max_places",
            [](const Tensor& a, const Tensor& b) { return std::get<1>(a.max(1)) - std::get<1>(b.min(1)); }),
      masks("less", [](const Tensor& a, const Tensor& b) { return a < b; }),
      masks("comparisons",
            [](const Tensor& a, const Tensor& b) {
              return (a > b).to(torch::kInt) + (a <= b).to(torch::kInt) * 2 + (a >= b).to(torch::kInt) * 4 +
                     (a == b).to(torch::kInt) * 8 + (a != b).to(torch::kInt) * 16;
            }),
      masks("maximum",
            [](const Tensor& a, const Tensor& b) { return a.maximum(b).to(torch::kInt) * 2 + a.minimum(b); }),
      masks("sort",
            [](const Tensor& a, const Tensor& b) {
              return at::cat({std::get<0>(a.sort(1)), std::get<0>(b.sort(1, true))}, 1);
            }),
      masks("argsort", [](const Tensor& a, const Tensor&) { return a.argsort(/*stable=*/true, 1); }),
      masks("sums", [](const Tensor& a, const Tensor& b) { return a.cumsum(1) + b.sum(1, true) + a.prod(1, true); }),
      masks("clamped_sum", [](const Tensor& a, const Tensor& b) { return (a.sum(1) - b.sum(1)).clamp(-1, 2); }),
  };
}

// Of numbers that every dtype holds, computed in `dtype`.
ExportCase computed_in(c10::ScalarType dtype, const std::string& name, const OneInput& function) {
  const auto computed = [=](const Tensor& x) {
    const Tensor y = function(x.to(dtype));
    return at::isReducedFloatingType(y.scalar_type()) ? y.to(torch::kFloat) : y;
  };
  return of_one(std::string(c10::toString(dtype)) + "_" + name, computed, small(at::kLong, kRows));
}

ExportCases cases_of(c10::ScalarType dtype) {
  const bool is_unsigned = dtype == at::kByte;
  const auto signed_part = [=](const Tensor& x) { return is_unsigned ? x : x - 4; };
  ExportCases all{
      computed_in(dtype, "sums", [](const Tensor& x) { return x.sum(1) + x.cumsum(2).select(1, 0).sum(1, true); }),
      computed_in(dtype, "product", [](const Tensor& x) { return x.clamp(0, 2).prod(1); }),
      computed_in(dtype, "extremes", [=](const Tensor& x) { return signed_part(x).amax(1) - x.amin(1); }),
      computed_in(dtype, "places", [=](const Tensor& x) { return signed_part(x).argmax(2) + x.argmin(2); }),
      computed_in(dtype, "signs", [=](const Tensor& x) { return signed_part(x).abs() + signed_part(x).sign(); }),
      computed_in(dtype, "negated", [](const Tensor& x) { return -x; }),
      computed_in(dtype, "bounds", [](const Tensor& x) { return x.clamp(2, 5).maximum(x / 2 > 1).minimum(x); }),
      computed_in(dtype, "power", [](const Tensor& x) { return x.clamp_max(5).pow(3) + x.square(); }),
      computed_in(dtype, "comparisons", [](const Tensor& x) { return (x > 4) ^ (x <= x.select(2, 0).unsqueeze(2)); }),
      computed_in(dtype, "sort",
                  [=](const Tensor& x) {
                    return at::cat({std::get<0>(signed_part(x).sort(1)), std::get<0>(x.sort(1, true))}, 1);
                  }),
      computed_in(dtype, "smallest", [=](const Tensor& x) { return std::get<0>(signed_part(x).topk(3, 2, false)); }),
      computed_in(dtype, "range", [=](const Tensor& x) { return x + at::arange(x.size(2), dtype); }),
      computed_in(dtype, "views",
                  [](const Tensor& x) {
                    return at::cat({x.flip(1), x.narrow(1, -1, 1)}, 1).tril().repeat({1, 1, 2});
                  }),
      computed_in(dtype, "padded",
                  [](const Tensor& x) {
                    return at::constant_pad_nd(x, {1, 2}, 3);
                  }),
      computed_in(dtype, "scatter_add",
                  [](const Tensor& x) { return x.scatter_add(2, at::zeros_like(x, at::kLong), x).sum(1); }),
      computed_in(dtype, "product_of_matrices",
                  [=](const Tensor& given) {
                    const Tensor x = given.clamp_max(4);  // sums up to 256 are exact in bfloat16, in any order
                    return x.matmul(x.transpose(1, 2)).amax(2) + x.select(1, 0).mm(at::ones({6, 4}, dtype));
                  }),
  };
  if (at::isFloatingType(dtype)) {
    all.push_back(computed_in(dtype, "mean", [](const Tensor& x) { return x.clamp_max(2).mean(1); }));
    all.push_back(computed_in(dtype, "relu", [](const Tensor& x) { return (x - 4).relu(); }));
  } else {
    all.push_back(computed_in(dtype, "mean", [](const Tensor& x) { return x.mean({1}, false, torch::kFloat); }));
    all.push_back(computed_in(dtype, "quotients", [](const Tensor& x) {
      return at::div(x, 3, "floor") + at::div(x, 2, "trunc") + at::remainder(x, 5);
    }));
    all.push_back(computed_in(dtype, "one_hot", [](const Tensor& x) { return at::one_hot(x.to(torch::kLong), 9); }));
  }
  return all;
}

ExportCases index_cases() {
  const Tensor table = torch::randn({9, 6});
  const TensorSpec numbers = small(at::kInt, {-1, 3});
  return {
      of_one(
          "int32_embedding", [=](const Tensor& i) { return at::embedding(table, i); }, numbers),
      of_one(
          "int32_index", [=](const Tensor& i) { return table.index({i - 4}); }, numbers),
      of_one(
          "int32_index_select", [=](const Tensor& i) { return table.index_select(0, i.select(1, 0)); }, numbers),
      of_one(
          "int32_gather", [=](const Tensor& i) { return table.t().contiguous().gather(1, i.slice(0, 0, 1)) * i; },
          numbers),
  };
}

}  // namespace

ExportCases dtype_cases() {
  ExportCases all = double_cases();
  for (const auto part : {small_cases, bool_cases, index_cases}) {
    for (ExportCase& one : part()) all.push_back(std::move(one));
  }
  for (const c10::ScalarType dtype : {at::kByte, at::kChar, at::kShort, at::kInt, at::kHalf, at::kBFloat16}) {
    for (ExportCase& one : cases_of(dtype)) all.push_back(std::move(one));
  }
  return all;
}

}  // namespace belfry::testing
