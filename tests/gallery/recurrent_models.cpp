// LSTM, GRU, and what reads their steps.
#include <torch/torch.h>

#include "gallery.h"

namespace belfry::testing {
namespace {

namespace nn = torch::nn;

constexpr int64_t kSteps = 6;
constexpr int64_t kWords = 20;
constexpr int64_t kTags = 5;

EstimatorSpec classifier_spec(const at::Tensor& logits, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  if (mode == ModeKeys::kPredict) {
    return EstimatorSpec::predict({{"probabilities", logits.softmax(-1)}, {"class_ids", logits.argmax(-1)}});
  }
  const at::Tensor loss = losses::sparse_softmax_cross_entropy(labels.tensor(), logits, ctx);
  if (mode == ModeKeys::kEval) return EstimatorSpec::eval(loss);
  return EstimatorSpec::train(loss, Adam({.learning_rate = 0.01}).minimize(loss, ctx));
}

struct LstmClassifierImpl : nn::Module {
  at::Tensor forward(const at::Tensor& x) {
    const auto [outputs, state] = lstm->forward(x);
    return logits(dropout(outputs.select(1, -1)));  // of the last step
  }

  nn::LSTM lstm{register_module("lstm", nn::LSTM(nn::LSTMOptions(4, 8).batch_first(true)))};
  nn::Dropout dropout{register_module("dropout", nn::Dropout(0.2))};
  nn::Linear logits{register_module("logits", nn::Linear(8, 3))};
};
TORCH_MODULE(LstmClassifier);

EstimatorSpec lstm_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto net = ctx.module<LstmClassifier>("net");
  return classifier_spec(net(features["series"]), labels, mode, ctx);
}

// Both directions and two layers; what the states of the last layer hold at the ends, with a state to begin with.
struct BothWaysImpl : nn::Module {
  at::Tensor forward(const at::Tensor& x) {
    const int64_t rows = x.size(0);
    const at::Tensor h = start.expand({4, rows, 6}).contiguous();
    const at::Tensor c = torch::zeros({4, rows, 6}, x.options());
    const auto [outputs, states] = lstm->forward(x, std::make_tuple(h, c));
    const at::Tensor& last = std::get<0>(states);
    return logits(torch::cat({last[-2], last[-1]}, 1));
  }

  at::Tensor start{register_parameter("start", torch::randn({4, 1, 6}) * 0.1)};
  nn::LSTM lstm{register_module(
      "lstm", nn::LSTM(nn::LSTMOptions(4, 6).num_layers(2).bidirectional(true).batch_first(true).dropout(0.1)))};
  nn::Linear logits{register_module("logits", nn::Linear(12, 3))};
};
TORCH_MODULE(BothWays);

EstimatorSpec both_ways_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto net = ctx.module<BothWays>("net");
  return classifier_spec(net(features["series"]), labels, mode, ctx);
}

struct GruRegressionImpl : nn::Module {
  at::Tensor forward(const at::Tensor& x) {
    const auto [outputs, last] = gru->forward(x.transpose(0, 1));  // [steps, batch, ...]
    return value(last.squeeze(0)).squeeze(1);
  }

  nn::GRU gru{register_module("gru", nn::GRU(4, 8))};
  nn::Linear value{register_module("value", nn::Linear(8, 1))};
};
TORCH_MODULE(GruRegression);

EstimatorSpec gru_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto net = ctx.module<GruRegression>("net");
  const at::Tensor y = net(features["series"]);
  if (mode == ModeKeys::kPredict) return EstimatorSpec::predict(y, {{"value", RegressionOutput{y}}});
  const at::Tensor loss = losses::mean_squared_error(labels.tensor(), y, ctx);
  if (mode == ModeKeys::kEval) return EstimatorSpec::eval(loss);
  return EstimatorSpec::train(loss, Adam({.learning_rate = 0.01}).minimize(loss, ctx));
}

// A tag for each word; places behind the end of a sentence (word 0) have none.
struct TaggerImpl : nn::Module {
  at::Tensor forward(const at::Tensor& words) {
    const auto [outputs, state] = gru->forward(embedding(words));
    return tags(torch::tanh(norm(outputs)));
  }

  nn::Embedding embedding{register_module("embedding", nn::Embedding(nn::EmbeddingOptions(kWords, 6).padding_idx(0)))};
  nn::GRU gru{register_module("gru", nn::GRU(nn::GRUOptions(6, 5).bidirectional(true).batch_first(true)))};
  nn::LayerNorm norm{register_module("norm", nn::LayerNorm(nn::LayerNormOptions({10})))};
  nn::Linear tags{register_module("tags", nn::Linear(10, kTags))};
};
TORCH_MODULE(Tagger);

EstimatorSpec tagger_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto net = ctx.module<Tagger>("tagger");
  const at::Tensor words = features["words"];
  const at::Tensor logits = net(words);
  const at::Tensor is_word = words != 0;
  if (mode == ModeKeys::kPredict) {
    return EstimatorSpec::predict({{"tags", logits.argmax(2).masked_fill(~is_word, -1)},
                                   {"scores", torch::where(is_word.unsqueeze(-1), logits.log_softmax(-1), 0.0)},
                                   {"length", is_word.sum(1)}});
  }
  const at::Tensor loss =
      losses::sparse_softmax_cross_entropy(labels.tensor(), logits, ctx, {.weights = is_word.to(torch::kFloat)});
  if (mode == ModeKeys::kEval) return EstimatorSpec::eval(loss);
  return EstimatorSpec::train(loss, Adam({.learning_rate = 0.01}).minimize(loss, ctx));
}

TensorDict series(int64_t rows) { return {{"series", some_floats({rows, kSteps, 4})}}; }
Labels class_of_series(const Features& features) { return features["series"].sum(1).narrow(1, 0, 3).argmax(1); }

}  // namespace

GalleryModels recurrent_models() {
  const auto receiver = build_raw_serving_input_receiver_fn({{"series", TensorSpec{.shape = {-1, kSteps, 4}}}});
  return {
      {.name = "lstm_classifier",
       .estimator = estimator_of(lstm_fn),
       .request = series,
       .labels = class_of_series,
       .receiver = receiver},
      {.name = "lstm_both_ways",
       .estimator = estimator_of(both_ways_fn),
       .request = series,
       .labels = class_of_series,
       .receiver = receiver},
      {.name = "gru_regression",
       .estimator = estimator_of(gru_fn),
       .request = series,
       .labels = [](const Features& features) -> Labels {
         return features["series"].sum({1, 2});
       },
       .receiver = receiver,
       .predictions = {{"serving_default/outputs", ""}, {"value/outputs", ""}}},
      {.name = "sequence_tagger",
       .estimator = estimator_of(tagger_fn),
       .request =
           [](int64_t rows) {  // sentences as long as the longest of a request
             return TensorDict{{"words", some_ids({rows, kSteps + rows % 4}, kWords)}};
           },
       .labels = [](const Features& features) -> Labels { return features["words"] % kTags; },
       .receiver = build_raw_serving_input_receiver_fn(
           {{"words", TensorSpec{.dtype = at::kLong, .shape = {-1, -1}, .high = kWords}}})},
  };
}

}  // namespace belfry::testing
