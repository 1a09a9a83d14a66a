#include "export_cases.h"

namespace belfry::testing {

namespace nn = torch::nn;
using at::Tensor;
using torch::indexing::Slice;

namespace {

// Words 0 and, in the first bag, all words do not count.
template <class Mode>
ExportCase padded_bag(const std::string& name, Mode mode) {
  auto bag = randomized(nn::EmbeddingBag(nn::EmbeddingBagOptions(5, 4).mode(mode).padding_idx(0)));
  const auto function = [bag](const Tensor& words) mutable {
    return bag->forward(words * (torch::arange(words.size(0)).unsqueeze(1) > 0));
  };
  return {name, request_of(function, ids(5, {-1, 3}), named_tensors("bag", *bag))};
}

}  // namespace

ExportCases indexing_cases() {
  const Tensor few = torch::tensor({0, 3, 1});
  const Tensor negative = torch::tensor({-1, 2});
  const Tensor table = torch::randn({40, 6});
  return {
      of_one("index",
             [=](const Tensor& x) {
               return x.index({Slice(), few});
             }),
      of_one("index_negative",
             [=](const Tensor& x) {
               return x.index({Slice(), negative});
             }),
      of_one("index_two",
             [=](const Tensor& x) {
               return x.index({Slice(), negative, torch::tensor({1, 5})});
             }),
      of_one("index_apart",
             [=](const Tensor& x) {
               return x.unsqueeze(1).index({torch::tensor({0, 0}), Slice(), few.slice(0, 0, 2)});
             }),
      of_one("index_select",
             [](const Tensor& x) {
               return x.index_select(2, torch::tensor({5, 0, 0}));
             }),
      of_one("index_mask", [](const Tensor& x) { return x.index({x.select(1, 0).select(1, 0) > -9}); }),
      of_one("masked_select", [](const Tensor& x) { return x.masked_select(x > -9); }),
      of_two(
          "index_by_rows",
          [](const Tensor& x, const Tensor& i) {
            return x.index({at::arange(x.size(0)), i});
          },
          floats({-1, 6}), ids(6, {-1})),
      of_two(
          "gather", [](const Tensor& x, const Tensor& i) { return x.gather(1, i); }, floats({-1, 6}), ids(6, {-1, 2})),
      of_two(
          "gather_last", [](const Tensor& x, const Tensor& i) { return x.gather(2, i); }, floats({-1, 4, 6}),
          ids(6, {-1, 4, 2})),
      of_two(
          "gather_fewer", [](const Tensor& x, const Tensor& i) { return x.gather(1, i); }, floats({-1, 4, 6}),
          ids(4, {-1, 2, 3})),
      of_two(
          "gather_counted", [](const Tensor& x, const Tensor& i) { return x.gather(1, i) + x.narrow(1, 0, 1); },
          floats({-1, 6}), ids(6, {-1, 6})),
      of_one(
          "gather_table", [=](const Tensor& i) { return table.gather(1, i); }, ids(6, {-1, 2})),
      of_two(
          "take_along", [](const Tensor& x, const Tensor& i) { return at::take_along_dim(x, i, 1); }, floats({-1, 6}),
          ids(6, {-1, 2})),
      of_two(
          "scatter", [](const Tensor& x, const Tensor& i) { return at::zeros_like(x).scatter(1, i, 1.0); },
          floats({-1, 6}), ids(6, {-1, 1})),
      of_two(
          "scatter_source", [](const Tensor& x, const Tensor& i) { return x.scatter(1, i, x.slice(1, 0, 1) * 9); },
          floats({-1, 6}), ids(6, {-1, 1})),
      of_two(
          "scatter_add", [](const Tensor& x, const Tensor& i) { return x.scatter_add(1, i, x.slice(1, 0, 4) * 9); },
          floats({-1, 6}), ids(6, {-1, 4})),
      of_two(
          "scatter_reduce_add",
          [](const Tensor& x, const Tensor& i) { return x.scatter(1, i, x.slice(1, 0, 4) * 9, "add"); },
          floats({-1, 6}), ids(6, {-1, 4})),
      of_one("index_add", [=](const Tensor& x) { return x.index_add(1, few, x.slice(1, 1) * 9, 0.5); }),
      of_two(
          "index_add_rows", [=](const Tensor& x, const Tensor& i) { return table.index_add(0, i, x); }, floats({-1, 6}),
          ids(40, {-1})),
      of_one(
          "one_hot", [](const Tensor& x) { return at::one_hot(x, 5).to(torch::kFloat); }, ids(5, {-1, 3})),
      of_module("embedding", nn::Embedding(9, 4), ids(9, {-1, 3})),
      of_module("embedding_bag_sum", nn::EmbeddingBag(nn::EmbeddingBagOptions(9, 4).mode(torch::kSum)),
                ids(9, {-1, 3})),
      of_module("embedding_bag_mean", nn::EmbeddingBag(nn::EmbeddingBagOptions(9, 4)), ids(9, {-1, 3})),
      of_module("embedding_bag_max", nn::EmbeddingBag(nn::EmbeddingBagOptions(9, 4).mode(torch::kMax)),
                ids(9, {-1, 3})),
      padded_bag("embedding_bag_padded_sum", torch::kSum),
      padded_bag("embedding_bag_padded_mean", torch::kMean),
      padded_bag("embedding_bag_padded_max", torch::kMax),
      of_one("index_put_mask",
             [](const Tensor& x) {
               Tensor y = x.clone();
               y.index_put_({x > 0}, 0.5);
               return y;
             }),
      of_one("index_put_rows",
             [](const Tensor& x) {
               Tensor y = x * 2;
               y.index_put_({x.select(2, 0) > 0}, -1);
               return y;
             }),
      of_one("index_triangle",
             [](const Tensor& x) {
               const Tensor above = torch::triu_indices(4, 4, 1);
               return x.index({Slice(), above[0], above[1]});
             }),
      of_one("bucketize",
             [](const Tensor& x) {
               return torch::bucketize(x, torch::tensor({-1.0F, 0.0F, 0.5F}));
             }),
      of_one(
          "bucketize_right",
          [](const Tensor& x) {
            return torch::bucketize(x.round(), torch::tensor({-1.0F, 0.0F, 1.0F}), /*out_int32=*/true, /*right=*/true);
          }),
      of_one("searchsorted",
             [](const Tensor& x) {
               return torch::searchsorted(torch::tensor({-1.0F, 0.0F, 0.5F}), x);
             }),
  };
}

}  // namespace belfry::testing
