// Models whose rows have a length that the request chooses.
#include "export_cases.h"

namespace belfry::testing {
namespace {

using at::Tensor;
namespace nn = torch::nn;

const TensorSpec kTokens{.dtype = at::kLong, .shape = {-1, -1}, .high = 20};
const TensorSpec kVectors{.shape = {-1, -1, 6}};

// Tokens to one row: embedding, a module over time, and a layer on what `take` makes of its outputs.
template <class Recurrent>
ExportCase text_model(const std::string& name, Recurrent recurrent, int64_t features,
                      const std::function<Tensor(const Tensor& outputs)>& take) {
  auto embedding = randomized(nn::Embedding(20, 6));
  recurrent = randomized(recurrent);
  auto linear = randomized(nn::Linear(features, 2));
  NamedTensors variables = named_tensors("embedding", *embedding);
  for (const auto& one : named_tensors("recurrent", *recurrent)) variables.push_back(one);
  for (const auto& one : named_tensors("linear", *linear)) variables.push_back(one);
  const auto function = [=](const Tensor& ids) mutable {
    return linear->forward(take(std::get<0>(recurrent->forward(embedding->forward(ids)))));
  };
  return {name, request_of(function, kTokens, variables)};
}

Tensor last_step(const Tensor& outputs) { return outputs.select(1, -1); }
Tensor every_step(const Tensor& outputs) { return outputs; }

ExportCase encoder_case() {
  auto layer = randomized(nn::TransformerEncoderLayer(nn::TransformerEncoderLayerOptions(6, 2).dim_feedforward(8)));
  const auto function = [layer](const Tensor& x) mutable { return layer->forward(x.transpose(0, 1)).transpose(0, 1); };
  return {"length_encoder", request_of(function, kVectors, named_tensors("layer", *layer))};
}

ExportCase masked_mean_case() {
  const auto function = [](const Features& features) -> TensorDict {
    const Tensor mask = features["mask"].unsqueeze(2);
    return {{"y", (features["x"] * mask).sum(1) / mask.sum(1).clamp_min(1)}};
  };
  return {"length_masked_mean",
          {function, ServingInputReceiver(std::vector<std::pair<std::string, TensorSpec>>{
                         {"x", kVectors}, {"mask", {.shape = {-1, -1}}}})}};
}

}  // namespace

ExportCases length_cases() {
  const Tensor positions = at::randn({16, 6});
  return {
      of_one(
          "length_mean", [](const Tensor& x) { return x.mean(1); }, kVectors),
      of_one(
          "length_softmax", [](const Tensor& x) { return x.softmax(1).cumsum(1); }, kVectors),
      of_one(
          "length_flat",
          [](const Tensor& x) {
            return x.reshape({x.size(0) * x.size(1), 6}).relu().view(x.sizes());
          },
          kVectors),
      of_one(
          "length_number", [](const Tensor& x) { return x.sum(1) / static_cast<double>(1) + at::full({1}, x.size(1)); },
          kVectors),
      of_one(
          "length_positions", [positions](const Tensor& x) { return x + positions.narrow(0, 0, x.size(1)); }, kVectors),
      of_one(
          "length_sinusoid", [](const Tensor& x) { return x + at::arange(x.size(1), at::kFloat).sin().unsqueeze(1); },
          kVectors),
      of_one(
          "length_attention",
          [](const Tensor& x) { return at::scaled_dot_product_attention(x, x * 2, x, {}, 0, /*is_causal=*/true); },
          kVectors),
      of_one(
          "length_reversed", [](const Tensor& x) { return x.flip(1); }, kVectors),
      of_one(
          "length_pairs", [](const Tensor& x) { return x.slice(1, 1) - x.slice(1, 0, -1); }, kVectors),
      of_one(
          "length_narrow_last", [](const Tensor& x) { return x.narrow(1, -2, 2) + x.narrow(1, -x.size(1), 2); },
          kVectors),
      of_one(
          "length_select_counted",
          [](const Tensor& x) { return x.select(1, -x.size(1)) - x.narrow(1, 5 - x.size(1), 1).squeeze(1); }, kVectors),
      of_one(
          "length_glu",
          [](const Tensor& x) {
            return at::glu(at::cat({x, x * 2}, 1), 1);
          },
          kVectors),
      of_one("length_pixel_shuffle", [](const Tensor& x) { return at::pixel_shuffle(x, 2); },
             {.shape = {-1, 4, 3, -1}}),
      of_one("length_pixel_unshuffle",
             [](const Tensor& x) {
               return at::pixel_unshuffle(at::cat({x, x * 2}, 3), 2);
             },
             {.shape = {-1, 3, 4, -1}}),
      of_two(
          "length_gather", [positions](const Tensor& x, const Tensor& i) { return x.gather(2, i) + positions.mean(); },
          kVectors, ids(6, {-1, -1, 2})),
      of_module("length_conv1d", nn::Conv1d(nn::Conv1dOptions(6, 3, 3).padding(1)), {.shape = {-1, 6, -1}}),
      text_model("length_lstm", nn::LSTM(nn::LSTMOptions(6, 5).batch_first(true)), 5, last_step),
      text_model("length_lstm_both",
                 nn::LSTM(nn::LSTMOptions(6, 5).batch_first(true).bidirectional(true).num_layers(2)), 10, every_step),
      text_model("length_gru", nn::GRU(nn::GRUOptions(6, 5).batch_first(true)), 5, last_step),
      text_model("length_gru_both", nn::GRU(nn::GRUOptions(6, 5).batch_first(true).bidirectional(true).num_layers(2)),
                 10, every_step),
      text_model("length_rnn", nn::RNN(nn::RNNOptions(6, 5).batch_first(true).nonlinearity(torch::kReLU)), 5,
                 every_step),
      encoder_case(),
      masked_mean_case(),
  };
}

}  // namespace belfry::testing
