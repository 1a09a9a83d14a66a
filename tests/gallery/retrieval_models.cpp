// Models that compare: what is near to what.
#include <torch/torch.h>

#include "gallery.h"

namespace belfry::testing {
namespace {

namespace nn = torch::nn;
namespace F = torch::nn::functional;

constexpr int64_t kUsers = 30;
constexpr int64_t kItems = 20;
constexpr int64_t kWidth = 6;

struct TowersImpl : nn::Module {
  at::Tensor user(const at::Tensor& id, const at::Tensor& profile) {
    return query->forward(torch::cat({user_embedding(id), profile}, -1));
  }
  at::Tensor item(const at::Tensor& id) { return candidate->forward(item_embedding(id)); }

  nn::Embedding user_embedding{register_module("user_embedding", nn::Embedding(kUsers, kWidth))};
  nn::Embedding item_embedding{register_module("item_embedding", nn::Embedding(kItems, kWidth))};
  nn::Sequential query{
      register_module("query", nn::Sequential(nn::Linear(kWidth + 3, 12), nn::ReLU(), nn::Linear(12, kWidth)))};
  nn::Sequential candidate{
      register_module("candidate", nn::Sequential(nn::Linear(kWidth, 12), nn::ReLU(), nn::Linear(12, kWidth)))};
};
TORCH_MODULE(Towers);

// Users and items in one space. Taught with the other items of the batch as wrong ones; asked for the nearest of all.
EstimatorSpec two_towers_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto net = ctx.module<Towers>("towers");
  const at::Tensor user = F::normalize(net->user(features["user"], features["profile"]));
  if (mode == ModeKeys::kPredict) {
    const at::Tensor items = F::normalize(net->item(torch::arange(kItems)));
    const at::Tensor similarity =
        F::cosine_similarity(user.unsqueeze(1), items.unsqueeze(0), F::CosineSimilarityFuncOptions().dim(-1));
    const auto [scores, ids] = similarity.topk(5, 1);
    return EstimatorSpec::predict({{"embedding", user}, {"items", ids}, {"scores", scores}});
  }
  const at::Tensor items = F::normalize(net->item(labels.tensor()));
  const at::Tensor logits = torch::mm(user, items.t()) / 0.1;
  const at::Tensor loss = losses::sparse_softmax_cross_entropy(torch::arange(logits.size(0)), logits, ctx);
  if (mode == ModeKeys::kEval) return EstimatorSpec::eval(loss);
  return EstimatorSpec::train(loss, Adam({.learning_rate = 0.01}).minimize(loss, ctx));
}

// One network for two things; how far apart they come out.
EstimatorSpec siamese_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto net = ctx.module("net", [] { return nn::Sequential(nn::Linear(5, 12), nn::Tanh(), nn::Linear(12, kWidth)); });
  const at::Tensor left = net->forward(features["left"]);
  const at::Tensor right = net->forward(features["right"]);
  const at::Tensor distance = torch::pairwise_distance(left, right);
  if (mode == ModeKeys::kPredict) {
    return EstimatorSpec::predict(
        {{"distance", distance}, {"similarity", torch::cosine_similarity(left, right)}, {"is_same", distance < 0.5}});
  }
  const at::Tensor same = labels.tensor();
  const at::Tensor loss =
      losses::compute_weighted_loss(same * distance.square() + (1 - same) * torch::relu(1 - distance).square(), ctx);
  if (mode == ModeKeys::kEval) return EstimatorSpec::eval(loss);
  return EstimatorSpec::train(loss, Adam({.learning_rate = 0.01}).minimize(loss, ctx));
}

// An answer by the nearest of learned examples, weighted by how near they are.
EstimatorSpec prototypes_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto net = ctx.module<nn::Linear>("net", 5, kWidth);
  const at::Tensor prototypes = ctx.variable("prototypes", [] { return torch::randn({3, kWidth}); });
  const at::Tensor distances = torch::cdist(net(features["left"]), prototypes);
  const at::Tensor logits = -distances.pow(2);
  if (mode == ModeKeys::kPredict) {
    return EstimatorSpec::predict({{"class_ids", distances.argmin(1)}, {"probabilities", logits.softmax(1)}});
  }
  const at::Tensor loss = losses::sparse_softmax_cross_entropy(labels.tensor(), logits, ctx);
  if (mode == ModeKeys::kEval) return EstimatorSpec::eval(loss);
  return EstimatorSpec::train(loss, Adam({.learning_rate = 0.01}).minimize(loss, ctx));
}

}  // namespace

GalleryModels retrieval_models() {
  return {
      {.name = "two_towers",
       .estimator = estimator_of(two_towers_fn),
       .request =
           [](int64_t rows) {
             return TensorDict{{"user", some_ids({rows}, kUsers)}, {"profile", some_floats({rows, 3})}};
           },
       .labels = [](const Features& features) -> Labels { return features["user"] % kItems; },
       .receiver =
           build_raw_serving_input_receiver_fn({{"user", TensorSpec{.dtype = at::kLong, .shape = {-1}, .high = kUsers}},
                                                {"profile", TensorSpec{.shape = {-1, 3}}}})},
      {.name = "siamese",
       .estimator = estimator_of(siamese_fn),
       .request =
           [](int64_t rows) {
             return TensorDict{{"left", some_floats({rows, 5})}, {"right", some_floats({rows, 5})}};
           },
       .labels = [](const Features& features) -> Labels {
         return (features["left"] * features["right"]).sum(1).gt(0).to(at::kFloat);
       },
       .receiver = build_raw_serving_input_receiver_fn(
           {{"left", TensorSpec{.shape = {-1, 5}}}, {"right", TensorSpec{.shape = {-1, 5}}}})},
      {.name = "prototypes",
       .estimator = estimator_of(prototypes_fn),
       .request =
           [](int64_t rows) {
             return TensorDict{{"left", some_floats({rows, 5})}};
           },
       .labels = [](const Features& features) -> Labels { return features["left"].narrow(1, 0, 3).argmax(1); },
       .receiver = build_raw_serving_input_receiver_fn({{"left", TensorSpec{.shape = {-1, 5}}}})},
  };
}

}  // namespace belfry::testing
