// Models that are taught by their own input, without labels.
#include <torch/torch.h>

#include "gallery.h"

namespace belfry::testing {
namespace {

namespace nn = torch::nn;

constexpr int64_t kPixels = 64;
constexpr int64_t kCode = 4;

struct AutoencoderImpl : nn::Module {
  nn::Sequential encoder{register_module(
      "encoder", nn::Sequential(nn::Flatten(), nn::Linear(kPixels, 16), nn::GELU(), nn::Linear(16, kCode)))};
  nn::Sequential decoder{
      register_module("decoder", nn::Sequential(nn::Linear(kCode, 16), nn::GELU(), nn::Linear(16, kPixels),
                                                nn::Sigmoid(), nn::Unflatten(nn::UnflattenOptions(1, {1, 8, 8}))))};
};
TORCH_MODULE(Autoencoder);

// How far a row is from what the model can draw tells outliers apart.
EstimatorSpec autoencoder_fn(const Features& features, ModeKeys mode, ModelContext& ctx) {
  auto net = ctx.module<Autoencoder>("autoencoder");
  const at::Tensor image = features["image"];
  const at::Tensor code = net->encoder->forward(image);
  const at::Tensor drawn = net->decoder->forward(code);
  if (mode == ModeKeys::kPredict) {
    const at::Tensor distance = torch::mse_loss(drawn, image, at::Reduction::None).flatten(1).mean(1);
    return EstimatorSpec::predict({{"code", code}, {"image", drawn}, {"distance", distance}});
  }
  const at::Tensor loss = losses::mean_squared_error(image, drawn, ctx);
  if (mode == ModeKeys::kEval) return EstimatorSpec::eval(loss);
  return EstimatorSpec::train(loss, Adam({.learning_rate = 0.01}).minimize(loss, ctx));
}

struct VariationalImpl : nn::Module {
  nn::Conv2d first{register_module("first", nn::Conv2d(nn::Conv2dOptions(1, 4, 3).stride(2).padding(1)))};
  nn::Linear encoder{register_module("encoder", nn::Linear(4 * 4 * 4, 2 * kCode))};
  nn::Linear decoder{register_module("decoder", nn::Linear(kCode, 4 * 4 * 4))};
  nn::ConvTranspose2d last{
      register_module("last", nn::ConvTranspose2d(nn::ConvTranspose2dOptions(4, 1, 4).stride(2).padding(1)))};
};
TORCH_MODULE(Variational);

// Draws a code in training; serves the mean of it.
EstimatorSpec variational_fn(const Features& features, ModeKeys mode, ModelContext& ctx) {
  auto net = ctx.module<Variational>("vae");
  const at::Tensor image = features["image"];
  const auto parts = net->encoder(torch::relu(net->first(image)).flatten(1)).chunk(2, 1);
  const at::Tensor& mean = parts[0];
  const at::Tensor& log_variance = parts[1];
  if (mode == ModeKeys::kPredict) {
    return EstimatorSpec::predict({{"mean", mean}, {"deviation", torch::exp(0.5 * log_variance)}});
  }
  const at::Tensor code =
      mode == ModeKeys::kTrain ? mean + torch::exp(0.5 * log_variance) * torch::randn_like(mean) : mean;
  const at::Tensor drawn = net->last(torch::relu(net->decoder(code)).view({-1, 4, 4, 4}));
  const at::Tensor divergence = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum(1);
  const at::Tensor loss = losses::sigmoid_cross_entropy(image, drawn, ctx) + 0.01 * losses::mean(divergence, ctx);
  if (mode == ModeKeys::kEval) return EstimatorSpec::eval(loss);
  return EstimatorSpec::train(loss, Adam({.learning_rate = 0.01}).minimize(loss, ctx));
}

TensorDict images(int64_t rows) { return {{"image", some_floats({rows, 1, 8, 8}).sigmoid()}}; }

}  // namespace

GalleryModels encoder_models() {
  const auto receiver = build_raw_serving_input_receiver_fn({{"image", TensorSpec{.shape = {-1, 1, 8, 8}}}});
  return {
      {.name = "autoencoder",
       .estimator = estimator_of(make_model_fn(autoencoder_fn)),
       .request = images,
       .labels = {},
       .receiver = receiver},
      {.name = "variational_encoder",
       .estimator = estimator_of(make_model_fn(variational_fn)),
       .request = images,
       .labels = {},
       .receiver = receiver},
  };
}

}  // namespace belfry::testing
