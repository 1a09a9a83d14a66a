#include <limits>

#include "export_cases.h"

namespace belfry::testing {

using at::Tensor;

ExportCases reduction_cases() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return {
      of_one("sum", [](const Tensor& x) { return x.sum(); }),
      of_one("sum_axis", [](const Tensor& x) { return x.sum(1); }),
      of_one("sum_axes",
             [](const Tensor& x) {
               return x.sum({1, 2}, true);
             }),
      of_one("sum_of_bool", [](const Tensor& x) { return (x > 0).sum(1); }),
      of_one("sum_to_double", [](const Tensor& x) { return x.sum({2}, false, torch::kDouble); }),
      of_one("mean", [](const Tensor& x) { return x.mean(); }),
      of_one("mean_axis", [](const Tensor& x) { return x.mean(-1); }),
      of_one("prod", [](const Tensor& x) { return x.prod(1); }),
      of_one("amax",
             [](const Tensor& x) {
               return x.amax({1, 2});
             }),
      of_one("amin", [](const Tensor& x) { return x.amin({-1}, true); }),
      of_one("max_all", [](const Tensor& x) { return x.max(); }),
      of_one("max_values", [](const Tensor& x) { return std::get<0>(x.max(1)); }),
      of_one("max_places", [](const Tensor& x) { return std::get<1>(x.max(1)); }),
      of_one("min_values", [](const Tensor& x) { return std::get<0>(x.min(2, true)); }),
      of_one("min_places", [](const Tensor& x) { return std::get<1>(x.min(2, true)); }),
      of_one("argmax", [](const Tensor& x) { return x.argmax(-1); }),
      of_one("argmax_kept", [](const Tensor& x) { return x.argmax(1, true); }),
      of_one("argmax_ties", [](const Tensor& x) { return x.round().argmax(-1); }),
      of_one("argmax_all", [](const Tensor& x) { return x.argmax(); }),
      of_one("argmin", [](const Tensor& x) { return x.argmin(1); }),
      of_one("any_all", [](const Tensor& x) { return (x > 2).any(1) | (x > -1).all(1); }),
      of_one("any_of_floats", [](const Tensor& x) { return x.round().any(2, true); }),
      of_one("std", [](const Tensor& x) { return x.std(1); }),
      of_one("std_correction", [](const Tensor& x) { return x.std(at::OptionalIntArrayRef({1}), 0); }),
      of_one("var_biased", [](const Tensor& x) { return x.var(2, false); }),
      of_one("var_all", [](const Tensor& x) { return x.var(); }),
      of_one("norm_zero",
             [](const Tensor& x) { return at::linalg_vector_norm(x.round(), 0, at::OptionalIntArrayRef({-1})); }),
      of_one("linalg_norm",
             [](const Tensor& x) { return at::linalg_norm(x, std::nullopt, at::OptionalIntArrayRef({2})); }),
      of_one("var_mean",
             [](const Tensor& x) {
               const auto [variance, mean] = torch::var_mean(x, at::OptionalIntArrayRef({1}));
               return variance * mean;
             }),
      of_one("std_mean",
             [](const Tensor& x) {
               const auto [deviation, mean] = torch::std_mean(x, at::OptionalIntArrayRef({2}), 1, true);
               return (x - mean) / deviation;
             }),
      of_one("count_nonzero", [](const Tensor& x) { return x.round().count_nonzero(at::IntArrayRef({1})); }),
      of_two("pairwise_distance", [](const Tensor& a, const Tensor& b) { return torch::pairwise_distance(a, b); }),
      of_two("pairwise_distance_one",
             [](const Tensor& a, const Tensor& b) { return torch::pairwise_distance(a, b, 1, 1e-3, true); }),
      of_two(
          "cdist", [](const Tensor& a, const Tensor& b) { return torch::cdist(a, b); }, floats({-1, 4, 6}),
          floats({-1, 3, 6})),
      of_one("cdist_fixed", [](const Tensor& x) { return torch::cdist(x.select(1, 0), torch::eye(6) * 3, 1); }),
      of_one("cdist_many",
             [](const Tensor& x) {
               return torch::cdist(x.select(1, 0), torch::eye(6).repeat({5, 1}) * 3);
             }),
      of_one("norm", [](const Tensor& x) { return x.norm(); }),
      of_one("norm_axis", [](const Tensor& x) { return x.norm(2, 1); }),
      of_one("norm_one", [](const Tensor& x) { return at::linalg_vector_norm(x, 1, at::OptionalIntArrayRef({-1})); }),
      of_one("norm_three", [](const Tensor& x) { return x.norm(3, {1}, true); }),
      of_one("norm_infinite",
             [=](const Tensor& x) { return at::linalg_vector_norm(x, kInfinity, at::OptionalIntArrayRef({1})); }),
      of_one("normalize", [](const Tensor& x) { return torch::nn::functional::normalize(x); }),
      of_one("logsumexp", [](const Tensor& x) { return x.logsumexp(2); }),
      of_one("logsumexp_kept",
             [](const Tensor& x) {
               return x.logsumexp({1, 2}, true);
             }),
      of_one("logsumexp_infinite", [=](const Tensor& x) { return at::full_like(x, -kInfinity).logsumexp(2); }),
      of_one("cumsum", [](const Tensor& x) { return x.cumsum(1); }),
      of_one("topk_values", [](const Tensor& x) { return std::get<0>(x.topk(3)); }),
      of_one("topk_places", [](const Tensor& x) { return std::get<1>(x.topk(2, 1)); }),
      of_one("topk_smallest", [](const Tensor& x) { return std::get<0>(x.topk(2, -1, false)); }),
      of_one("sort", [](const Tensor& x) { return std::get<0>(x.sort(-1)); }),
      of_one("sort_descending", [](const Tensor& x) { return std::get<1>(x.sort(1, true)); }),
      of_one("argsort", [](const Tensor& x) { return x.argsort(-1, /*descending=*/false); }),
      of_one(
          "sort_ids", [](const Tensor& x) { return std::get<0>(x.sort(-1)); }, ids(50, {-1, 5})),
  };
}

}  // namespace belfry::testing
