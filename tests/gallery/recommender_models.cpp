// Crossed fields of categories.
#include <torch/torch.h>

#include "gallery.h"

namespace belfry::testing {
namespace {

namespace nn = torch::nn;

constexpr int64_t kFields = 4;
constexpr int64_t kBuckets = 25;  // of each field
constexpr int64_t kFactors = 5;

// DeepFM: pairs of fields by their factors, and a deep network of all of them.
struct DeepFmImpl : nn::Module {
  at::Tensor forward(const at::Tensor& ids) {
    const at::Tensor offsets = torch::arange(kFields) * kBuckets;
    const at::Tensor rows = ids + offsets;
    const at::Tensor vectors = factors(rows);  // [batch, fields, factors]
    const at::Tensor square_of_sum = vectors.sum(1).pow(2);
    const at::Tensor sum_of_squares = vectors.pow(2).sum(1);
    const at::Tensor pairs = 0.5 * (square_of_sum - sum_of_squares).sum(1, /*keepdim=*/true);
    const at::Tensor first_order = weights(rows).sum(1) + bias;
    return (first_order + pairs + deep->forward(vectors.view({-1, kFields * kFactors}))).squeeze(1);
  }

  nn::Embedding factors{register_module("factors", nn::Embedding(kFields* kBuckets, kFactors))};
  nn::Embedding weights{register_module("weights", nn::Embedding(kFields* kBuckets, 1))};
  at::Tensor bias{register_parameter("bias", torch::zeros({1}))};
  nn::Sequential deep{register_module(
      "deep", nn::Sequential(nn::Linear(kFields* kFactors, 16), nn::BatchNorm1d(16), nn::ReLU(), nn::Linear(16, 1)))};
};
TORCH_MODULE(DeepFm);

EstimatorSpec click_spec(const at::Tensor& logits, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  if (mode == ModeKeys::kPredict) {
    return EstimatorSpec::predict({{"click", torch::sigmoid(logits)}, {"logits", logits}});
  }
  const at::Tensor loss = losses::sigmoid_cross_entropy(labels.tensor(), logits, ctx);
  if (mode == ModeKeys::kEval) {
    return EstimatorSpec::eval(loss, {{"auc", metrics::auc(labels.tensor(), torch::sigmoid(logits))}});
  }
  return EstimatorSpec::train(loss, Adam({.learning_rate = 0.01}).minimize(loss, ctx));
}

EstimatorSpec deep_fm_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto net = ctx.module<DeepFm>("deep_fm");
  return click_spec(net(features["ids"]), labels, mode, ctx);
}

// DLRM: products of every pair of fields, those above the diagonal, beside dense numbers; and crosses of the whole.
EstimatorSpec dot_products_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto embedding = ctx.module<nn::Embedding>("embedding", kBuckets, kFactors);
  auto bottom = ctx.module<nn::Linear>("bottom", 3, kFactors);
  auto cross = ctx.module<nn::Linear>("cross", 15, 15);
  auto top = ctx.module<nn::Linear>("top", 15, 1);
  const at::Tensor dense = torch::relu(bottom(torch::log1p(features["counts"].to(torch::kFloat))));
  const at::Tensor all = torch::cat({dense.unsqueeze(1), embedding(features["ids"])}, 1);  // [batch, 5, factors]
  const at::Tensor products = torch::bmm(all, all.transpose(1, 2));
  const at::Tensor above = torch::triu_indices(5, 5, 1);
  const at::Tensor pairs = products.index({torch::indexing::Slice(), above[0], above[1]});  // [batch, 10]
  const at::Tensor x = torch::hstack({dense, pairs});
  return click_spec(top(x * cross(x) + x).squeeze(1), labels, mode, ctx);
}

TensorDict fields(int64_t rows) { return {{"ids", some_ids({rows, kFields}, kBuckets)}}; }
Labels clicked(const Features& features) { return (features["ids"].sum(1) % 2).to(at::kFloat); }

}  // namespace

GalleryModels recommender_models() {
  const TensorSpec ids{.dtype = at::kLong, .shape = {-1, kFields}, .high = kBuckets};
  return {
      {.name = "deep_factorization_machine",
       .estimator = estimator_of(deep_fm_fn),
       .request = fields,
       .labels = clicked,
       .receiver = build_raw_serving_input_receiver_fn({{"ids", ids}})},
      {.name = "products_of_fields",
       .estimator = estimator_of(dot_products_fn),
       .request =
           [](int64_t rows) {
             return TensorDict{{"ids", some_ids({rows, kFields}, kBuckets)}, {"counts", some_ids({rows, 3}, 90)}};
           },
       .labels = clicked,
       .receiver = build_raw_serving_input_receiver_fn(
           {{"ids", ids}, {"counts", TensorSpec{.dtype = at::kLong, .shape = {-1, 3}, .high = 90}}})},
  };
}

}  // namespace belfry::testing
