#include <cmath>

#include "export_cases.h"

namespace belfry::testing {
namespace {

namespace F = torch::nn::functional;
namespace nn = torch::nn;
using at::Tensor;

// A recurrent layer's outputs, or the last states of all its layers.
template <class Layer>
ExportCase outputs_of(const std::string& name, Layer given, int64_t steps = 4) {
  Layer layer = randomized(std::move(given));
  const bool batch_first = layer->options_base.batch_first();
  const auto function = [layer, batch_first](const Tensor& x) mutable {
    const Tensor y = std::get<0>(layer->forward(batch_first ? x : x.transpose(0, 1)));
    return batch_first ? y : y.transpose(0, 1);
  };
  return {name, request_of(function, {.shape = {-1, steps, 6}}, named_tensors("net", *layer))};
}

// Each row of the batch is a step.
template <class Layer>
ExportCase over_rows(const std::string& name, Layer given, c10::ScalarType dtype = at::kFloat) {
  Layer layer = randomized(std::move(given));
  layer->to(dtype);
  const auto function = [layer](const Tensor& x) mutable { return std::get<0>(layer->forward(x)); };
  return {name, request_of(function, {.dtype = dtype, .shape = {-1, 4, 6}}, named_tensors("net", *layer))};
}

const Tensor& first_state(const Tensor& state) { return state; }
const Tensor& first_state(const std::tuple<Tensor, Tensor>& states) { return std::get<1>(states); }

template <class Layer>
ExportCase states_of(const std::string& name, Layer given) {
  Layer layer = randomized(std::move(given));
  const auto function = [layer](const Tensor& x) mutable {
    return first_state(std::get<1>(layer->forward(x.transpose(0, 1)))).transpose(0, 1);
  };
  return {name, request_of(function, {.shape = {-1, 4, 6}}, named_tensors("net", *layer))};
}

ExportCase cell_case() {
  nn::LSTMCell cell = randomized(nn::LSTMCell(6, 5));
  const auto two_steps = [cell](const Tensor& x) mutable {
    const auto state = cell->forward(x.select(1, 0));
    return std::get<0>(cell->forward(x.select(1, 1), state));
  };
  return {"lstm_cell", request_of(two_steps, {.shape = {-1, 4, 6}}, named_tensors("cell", *cell))};
}

ExportCase lstm_in_double() {
  nn::LSTM lstm = randomized(nn::LSTM(nn::LSTMOptions(6, 5).batch_first(true)));
  lstm->to(torch::kDouble);
  const auto function = [lstm](const Tensor& x) mutable { return std::get<0>(lstm->forward(x)); };
  return {"lstm_double",
          request_of(function, {.dtype = at::kDouble, .shape = {-1, 4, 6}}, named_tensors("net", *lstm))};
}

}  // namespace

ExportCases recurrent_cases() {
  return {
      outputs_of("lstm", nn::LSTM(nn::LSTMOptions(6, 5).batch_first(true))),
      outputs_of("lstm_layers", nn::LSTM(nn::LSTMOptions(6, 5).num_layers(2).bidirectional(true))),
      outputs_of("lstm_no_bias", nn::LSTM(nn::LSTMOptions(6, 5).bias(false))),
      states_of("lstm_cells", nn::LSTM(nn::LSTMOptions(6, 5).num_layers(2).bidirectional(true))),
      lstm_in_double(),
      outputs_of("gru", nn::GRU(nn::GRUOptions(6, 5).batch_first(true))),
      outputs_of("gru_layers", nn::GRU(nn::GRUOptions(6, 5).num_layers(2).bidirectional(true))),
      states_of("gru_states", nn::GRU(nn::GRUOptions(6, 5).num_layers(2).bidirectional(true))),
      outputs_of("rnn", nn::RNN(nn::RNNOptions(6, 5).batch_first(true))),
      outputs_of("rnn_relu", nn::RNN(nn::RNNOptions(6, 5).nonlinearity(torch::kReLU))),
      states_of("rnn_states", nn::RNN(nn::RNNOptions(6, 5).bidirectional(true))),
      outputs_of("gru_many_steps", nn::GRU(nn::GRUOptions(6, 5).bidirectional(true)), 40),
      over_rows("lstm_over_rows", nn::LSTM(nn::LSTMOptions(6, 5).bidirectional(true)), at::kDouble),
      over_rows("gru_over_rows", nn::GRU(nn::GRUOptions(6, 5).bidirectional(true))),
      over_rows("gru_over_rows_no_bias", nn::GRU(nn::GRUOptions(6, 5).bias(false))),
      over_rows("rnn_over_rows", nn::RNN(nn::RNNOptions(6, 5))),
      cell_case(),
      of_module("gru_cell", nn::GRUCell(6, 5), floats({-1, 6})),
      of_module("rnn_cell", nn::RNNCell(6, 5), floats({-1, 6})),
  };
}

ExportCases loss_cases() {
  const auto classes = [](const TwoInputs& function, const std::string& name) {
    return of_two(name, function, floats({-1, 6}), ids(6, {-1}));
  };
  return {
      of_two("mse", [](const Tensor& a, const Tensor& b) { return at::mse_loss(a, b); }),
      of_two("mse_rows", [](const Tensor& a, const Tensor& b) { return at::mse_loss(a, b, 0); }),
      of_two("l1", [](const Tensor& a, const Tensor& b) { return at::l1_loss(a, b, 2); }),
      of_two("smooth_l1", [](const Tensor& a, const Tensor& b) { return at::smooth_l1_loss(a, b, 1, 0.5); }),
      of_two("huber", [](const Tensor& a, const Tensor& b) { return at::huber_loss(a, b, 1, 0.7); }),
      of_two("bce", [](const Tensor& a,
                       const Tensor& b) { return at::binary_cross_entropy_with_logits(a, (b > 0).to(torch::kFloat)); }),
      classes([](const Tensor& x, const Tensor& i) { return at::cross_entropy_loss(x, i, {}, 0); }, "cross_entropy"),
      classes([](const Tensor& x, const Tensor& i) { return at::nll_loss(x.log_softmax(1), i); }, "nll"),
      of_two("cosine", [](const Tensor& a, const Tensor& b) { return at::cosine_similarity(a, b, 1); }),
      of_one(
          "attention", [](const Tensor& x) { return at::scaled_dot_product_attention(x, x * 2, x + 1); },
          floats({-1, 2, 4, 6})),
      of_one(
          "attention_causal", [](const Tensor& x) { return at::scaled_dot_product_attention(x, x, x, {}, 0, true); },
          floats({-1, 2, 4, 6})),
      of_one(
          "attention_mask",
          [](const Tensor& x) {
            return at::scaled_dot_product_attention(x, x, x, torch::ones({4, 4}).tril().to(torch::kBool));
          },
          floats({-1, 2, 4, 6})),
      of_two("attention_to_nothing",  // some queries may look at no key
             [](const Tensor& x, const Tensor& mask) {
               return at::scaled_dot_product_attention(x, x, x, mask.unsqueeze(1).unsqueeze(3).expand({-1, 2, 4, 4}));
             },
             floats({-1, 2, 4, 6}), {.dtype = at::kBool, .shape = {-1, 4}}),
      of_one(
          "attention_infinite_bias",
          [](const Tensor& x) {
            const Tensor bias = torch::eye(4).log() + torch::tensor({0.0F, -INFINITY, 1.0F, 2.0F}).unsqueeze(1);
            return at::scaled_dot_product_attention(x, x, x, bias);
          },
          floats({-1, 2, 4, 6})),
      of_one(
          "attention_bias",
          [](const Tensor& x) {
            return at::scaled_dot_product_attention(x, x, x, torch::arange(16.0).view({4, 4}) / 9, 0, false, 0.3);
          },
          floats({-1, 2, 4, 6})),
  };
}

ExportCases model_cases() {
  nn::TransformerEncoder encoder = randomized(nn::TransformerEncoder(nn::TransformerEncoderOptions(
      nn::TransformerEncoderLayer(nn::TransformerEncoderLayerOptions(8, 2).dim_feedforward(16)), 2)));
  const auto encode = [encoder](const Tensor& x) mutable {
    return encoder->forward(x.transpose(0, 1)).transpose(0, 1);
  };
  return {
      of_module("model_dnn",
                nn::Sequential(nn::Linear(6, 8), nn::ReLU(), nn::BatchNorm1d(8), nn::Dropout(0.5), nn::Linear(8, 3),
                               nn::Softmax(1)),
                floats({-1, 6})),
      of_module("model_cnn",
                nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 4, 3).padding(1)), nn::BatchNorm2d(4), nn::ReLU(),
                               nn::MaxPool2d(2), nn::Conv2d(4, 8, 3), nn::ReLU(), nn::AdaptiveAvgPool2d(1),
                               nn::Flatten(), nn::Linear(8, 3), nn::LogSoftmax(1)),
                floats({-1, 1, 12, 12})),
      {"model_wide_and_deep", wide_and_deep_request()},
      {"model_attention", attention_request()},
      {"model_transformer", request_of(encode, {.shape = {-1, 5, 8}}, named_tensors("encoder", *encoder))},
  };
}

}  // namespace belfry::testing
