// Bags of words.
#include <torch/torch.h>

#include "gallery.h"

namespace belfry::testing {
namespace {

namespace nn = torch::nn;

constexpr int64_t kWords = 50;
constexpr int64_t kLength = 8;

EstimatorSpec classifier_spec(const at::Tensor& logits, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  if (mode == ModeKeys::kPredict) {
    return EstimatorSpec::predict({{"probabilities", logits.softmax(1)}, {"class_ids", logits.argmax(1)}});
  }
  const at::Tensor loss = losses::sparse_softmax_cross_entropy(labels.tensor(), logits, ctx);
  if (mode == ModeKeys::kEval) return EstimatorSpec::eval(loss);
  return EstimatorSpec::train(loss, Adagrad({.learning_rate = 0.1}).minimize(loss, ctx));
}

// The mean of the words' vectors, word 0 left out.
EstimatorSpec bag_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto bag = ctx.module(
      "bag", [] { return nn::EmbeddingBag(nn::EmbeddingBagOptions(kWords, 8).mode(torch::kMean).padding_idx(0)); });
  auto logits = ctx.module<nn::Linear>("logits", 8, 3);
  return classifier_spec(logits(bag(features["words"])), labels, mode, ctx);
}

// Words with weights of their own, such as tf-idf.
EstimatorSpec weighted_bag_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto bag = ctx.module("bag", [] { return nn::EmbeddingBag(nn::EmbeddingBagOptions(kWords, 8).mode(torch::kSum)); });
  auto logits = ctx.module<nn::Linear>("logits", 8, 3);
  const at::Tensor sum = bag->forward(features["words"], /*offsets=*/{}, features["weights"]);
  return classifier_spec(logits(torch::relu(sum)), labels, mode, ctx);
}

// Windows of two, three and four words, the strongest of each.
struct TextConvolutionsImpl : nn::Module {
  TextConvolutionsImpl() {
    for (const int64_t width : {2, 3, 4}) {
      windows.push_back(
          register_module("window_" + std::to_string(width), nn::Conv2d(nn::Conv2dOptions(1, 4, {width, 6}))));
    }
  }

  at::Tensor forward(const at::Tensor& words) {
    const at::Tensor x = embedding(words).unsqueeze(1);
    std::vector<at::Tensor> strongest;
    for (auto& window : windows) strongest.push_back(std::get<0>(torch::relu(window(x)).squeeze(3).max(2)));
    return logits(torch::cat(strongest, 1));
  }

  nn::Embedding embedding{register_module("embedding", nn::Embedding(kWords, 6))};
  std::vector<nn::Conv2d> windows;
  nn::Linear logits{register_module("logits", nn::Linear(12, 3))};
};
TORCH_MODULE(TextConvolutions);

EstimatorSpec text_convolutions_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto net = ctx.module<TextConvolutions>("net");
  return classifier_spec(net(features["words"]), labels, mode, ctx);
}

// 0 behind the words of a short text; no text is empty.
at::Tensor texts(int64_t rows) {
  const at::Tensor lengths = some_ids({rows, 1}, kLength) + 1;
  return (some_ids({rows, kLength}, kWords - 1) + 1) * (at::arange(kLength) < lengths);
}

TensorDict words(int64_t rows) { return {{"words", texts(rows)}}; }
Labels class_of_words(const Features& features) { return features["words"].sum(1) % 3; }

}  // namespace

GalleryModels text_models() {
  const TensorSpec spec{.dtype = at::kLong, .shape = {-1, kLength}, .high = kWords};
  const auto receiver = build_raw_serving_input_receiver_fn({{"words", spec}});
  return {
      {.name = "bag_of_words",
       .estimator = estimator_of(bag_fn),
       .request = words,
       .labels = class_of_words,
       .receiver = receiver},
      {.name = "weighted_bag_of_words",
       .estimator = estimator_of(weighted_bag_fn),
       .request =
           [](int64_t rows) {
             return TensorDict{{"words", texts(rows)}, {"weights", some_floats({rows, kLength})}};
           },
       .labels = class_of_words,
       .receiver =
           build_raw_serving_input_receiver_fn({{"words", spec}, {"weights", TensorSpec{.shape = {-1, kLength}}}})},
      {.name = "convolutions_over_text",
       .estimator = estimator_of(text_convolutions_fn),
       .request = words,
       .labels = class_of_words,
       .receiver = receiver},
  };
}

}  // namespace belfry::testing
