// Attention: LibTorch's encoder with padding, and one written by hand.
#include <torch/torch.h>

#include <cmath>

#include "gallery.h"

namespace belfry::testing {
namespace {

namespace nn = torch::nn;

constexpr int64_t kWords = 30;
constexpr int64_t kLength = 7;
constexpr int64_t kWidth = 8;

EstimatorSpec classifier_spec(const at::Tensor& logits, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  if (mode == ModeKeys::kPredict) {
    return EstimatorSpec::predict({{"probabilities", logits.softmax(-1)}, {"class_ids", logits.argmax(-1)}});
  }
  const at::Tensor loss = losses::sparse_softmax_cross_entropy(labels.tensor(), logits, ctx);
  if (mode == ModeKeys::kEval) return EstimatorSpec::eval(loss);
  return EstimatorSpec::train(loss, Adam({.learning_rate = 0.005}).minimize(loss, ctx));
}

// Sines and cosines of falling frequencies.
at::Tensor positions() {
  const at::Tensor place = torch::arange(kLength, torch::kFloat).unsqueeze(1);
  const at::Tensor rate = torch::exp(torch::arange(0, kWidth, 2, torch::kFloat) * (-std::log(10000.0) / kWidth));
  return torch::stack({torch::sin(place * rate), torch::cos(place * rate)}, 2).flatten(1);
}

// Sentences [batch, words], of which 0 fills up the short ones; the mean over true words is classified.
struct EncoderImpl : nn::Module {
  at::Tensor forward(const at::Tensor& words) {
    const at::Tensor padding = words.eq(0);
    const at::Tensor x = embedding(words) * std::sqrt(kWidth) + place;
    const at::Tensor y = encoder->forward(x.transpose(0, 1), /*src_mask=*/{}, padding).transpose(0, 1);
    const at::Tensor share = (~padding).to(y.dtype()).unsqueeze(-1);
    return logits((y * share).sum(1) / share.sum(1).clamp_min(1));
  }

  nn::Embedding embedding{register_module("embedding", nn::Embedding(kWords, kWidth))};
  at::Tensor place{register_buffer("place", positions())};
  nn::TransformerEncoder encoder{register_module(
      "encoder",
      nn::TransformerEncoder(
          nn::TransformerEncoderOptions(
              nn::TransformerEncoderLayer(
                  nn::TransformerEncoderLayerOptions(kWidth, 2).dim_feedforward(16).activation(torch::kGELU)),
              2)
              .norm(nn::AnyModule(nn::LayerNorm(nn::LayerNormOptions({kWidth}))))))};
  nn::Linear logits{register_module("logits", nn::Linear(kWidth, 3))};
};
TORCH_MODULE(Encoder);

EstimatorSpec encoder_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto net = ctx.module<Encoder>("encoder");
  return classifier_spec(net(features["words"]), labels, mode, ctx);
}

// Pre-norm blocks of attention by scaled_dot_product_attention, heads apart; each word sees those before it.
struct BlockImpl : nn::Module {
  explicit BlockImpl(int64_t heads) : heads_(heads) {}

  at::Tensor forward(at::Tensor x) {
    const int64_t rows = x.size(0);
    const auto qkv = in(norm1(x)).view({rows, -1, 3, heads_, kWidth / heads_}).permute({2, 0, 3, 1, 4});
    const at::Tensor seen =
        torch::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], /*attn_mask=*/{}, 0.0, /*is_causal=*/true);
    x = x + out(seen.transpose(1, 2).reshape({rows, -1, kWidth}));
    return x + second(torch::gelu(first(norm2(x)), "tanh"));
  }

  int64_t heads_;
  nn::LayerNorm norm1{register_module("norm1", nn::LayerNorm(nn::LayerNormOptions({kWidth})))};
  nn::LayerNorm norm2{register_module("norm2", nn::LayerNorm(nn::LayerNormOptions({kWidth})))};
  nn::Linear in{register_module("in", nn::Linear(kWidth, 3 * kWidth))};
  nn::Linear out{register_module("out", nn::Linear(kWidth, kWidth))};
  nn::Linear first{register_module("first", nn::Linear(kWidth, 16))};
  nn::Linear second{register_module("second", nn::Linear(16, kWidth))};
};
TORCH_MODULE(Block);

// The next word at every place; the embedding gives the logits too.
EstimatorSpec language_model_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto embedding = ctx.module<nn::Embedding>("embedding", kWords, kWidth);
  const at::Tensor place = ctx.variable("place", [] { return torch::randn({kLength, kWidth}) * 0.1; });
  auto first = ctx.module<Block>("block_0", 2);
  auto second = ctx.module<Block>("block_1", 2);
  const at::Tensor x = second(first(embedding(features["words"]) + place));
  const at::Tensor logits = torch::matmul(x, embedding->weight.t());
  if (mode == ModeKeys::kPredict) {
    const at::Tensor next = logits.index({torch::indexing::Ellipsis, -1, torch::indexing::Slice()});
    const auto [scores, ids] = torch::topk(next, 3);
    return EstimatorSpec::predict({{"logits", logits}, {"next_ids", ids}, {"next_scores", scores}});
  }
  const at::Tensor loss = losses::sparse_softmax_cross_entropy(labels.tensor(), logits, ctx);
  if (mode == ModeKeys::kEval) return EstimatorSpec::eval(loss);
  return EstimatorSpec::train(loss, Adam({.learning_rate = 0.005}).minimize(loss, ctx));
}

// A learned question to a list of items of several lengths, "count" of them true: pooling by attention.
EstimatorSpec attention_pooling_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto keys = ctx.module<nn::Linear>("keys", 4, kWidth);
  auto values = ctx.module<nn::Linear>("values", 4, kWidth);
  auto logits = ctx.module<nn::Linear>("logits", kWidth, 3);
  const at::Tensor question = ctx.variable("question", [] { return torch::randn({kWidth}); });
  const at::Tensor items = features["items"];
  const at::Tensor is_there = torch::arange(items.size(1)).unsqueeze(0) < features["count"].unsqueeze(1);
  at::Tensor score = torch::matmul(keys(items), question) / std::sqrt(double{kWidth});
  score = score.masked_fill(is_there.logical_not(), -1e9);
  const at::Tensor attention = torch::softmax(score, 1);
  const at::Tensor pooled = torch::bmm(attention.unsqueeze(1), values(items)).squeeze(1);
  return classifier_spec(logits(pooled), labels, mode, ctx);
}

TensorDict sentences(int64_t rows) {
  const at::Tensor lengths = some_ids({rows, 1}, kLength) + 1;
  const at::Tensor words = some_ids({rows, kLength}, kWords - 1) + 1;
  return {{"words", words * (at::arange(kLength) < lengths)}};
}

}  // namespace

GalleryModels attention_models() {
  return {
      {.name = "transformer_encoder_with_padding",
       .estimator = estimator_of(encoder_fn),
       .request = sentences,
       .labels = [](const Features& features) -> Labels { return features["words"].sum(1) % 3; },
       .receiver = build_raw_serving_input_receiver_fn(
           {{"words", TensorSpec{.dtype = at::kLong, .shape = {-1, kLength}, .high = kWords}}})},
      {.name = "causal_attention_by_hand",
       .estimator = estimator_of(language_model_fn),
       .request = sentences,
       .labels = [](const Features& features) -> Labels { return features["words"].roll(-1, 1); },
       .receiver = build_raw_serving_input_receiver_fn(
           {{"words", TensorSpec{.dtype = at::kLong, .shape = {-1, kLength}, .high = kWords}}})},
      {.name = "attention_pooling",
       .estimator = estimator_of(attention_pooling_fn),
       .request =
           [](int64_t rows) {
             return TensorDict{{"items", some_floats({rows, 5, 4})}, {"count", some_ids({rows}, 5) + 1}};
           },
       .labels = [](const Features& features) -> Labels { return features["count"] % 3; },
       .receiver = build_raw_serving_input_receiver_fn(
           {{"items", TensorSpec{.shape = {-1, 5, 4}}},
            {"count", TensorSpec{.dtype = at::kLong, .shape = {-1}, .low = 1, .high = 6}}})},
  };
}

}  // namespace belfry::testing
