// One-dimensional convolutions.
#include <torch/torch.h>

#include "gallery.h"

namespace belfry::testing {
namespace {

namespace nn = torch::nn;
namespace F = torch::nn::functional;

constexpr int64_t kSteps = 24;
constexpr int64_t kSensors = 3;

// A class of a series [batch, steps, sensors].
EstimatorSpec activity_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto net = ctx.module("net", [] {
    return nn::Sequential(nn::Conv1d(nn::Conv1dOptions(kSensors, 8, 5).stride(2).padding(2)), nn::BatchNorm1d(8),
                          nn::ReLU(), nn::MaxPool1d(2), nn::Conv1d(8, 12, 3), nn::Mish(), nn::AdaptiveMaxPool1d(1),
                          nn::Flatten(), nn::Linear(12, 3));
  });
  const at::Tensor series = features["series"];
  const at::Tensor centered = series - series.mean(1, /*keepdim=*/true);
  const at::Tensor logits = net->forward(centered.transpose(1, 2));
  if (mode == ModeKeys::kPredict) {
    const auto [probability, activity] = logits.softmax(1).max(1);
    return EstimatorSpec::predict({{"activity", activity}, {"probability", probability}});
  }
  const at::Tensor loss = losses::sparse_softmax_cross_entropy(labels.tensor(), logits, ctx);
  if (mode == ModeKeys::kEval) return EstimatorSpec::eval(loss);
  return EstimatorSpec::train(loss, Adam({.learning_rate = 0.01}).minimize(loss, ctx));
}

// A stack of dilated convolutions that look back only, with gates, as WaveNet has them.
struct CausalStackImpl : nn::Module {
  CausalStackImpl(int64_t channels, int64_t layers)
      : input(register_module("input", nn::Conv1d(kSensors, channels, 1))) {
    for (int64_t i = 0; i < layers; ++i) {
      convolutions.push_back(
          register_module("convolution_" + std::to_string(i),
                          nn::Conv1d(nn::Conv1dOptions(channels, 2 * channels, 2).dilation(1 << i))));
    }
    output = register_module("output", nn::Conv1d(channels, 1, 1));
  }

  at::Tensor forward(const at::Tensor& series) {
    at::Tensor x = input(series);
    at::Tensor sum = torch::zeros_like(x);
    for (size_t i = 0; i < convolutions.size(); ++i) {
      const at::Tensor padded = F::pad(x, F::PadFuncOptions({int64_t{1} << i, 0}));
      const at::Tensor y = F::glu(convolutions[i](padded), F::GLUFuncOptions(1));
      x = x + y;
      sum += y;
    }
    return output(torch::relu(sum)).squeeze(1);
  }

  nn::Conv1d input, output{nullptr};
  std::vector<nn::Conv1d> convolutions;
};
TORCH_MODULE(CausalStack);

// The next value at each step.
EstimatorSpec forecast_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto net = ctx.module<CausalStack>("net", 6, 3);
  const at::Tensor forecast = net(features["series"].permute({0, 2, 1}));
  if (mode == ModeKeys::kPredict) {
    return EstimatorSpec::predict({{"forecast", forecast}, {"next", forecast.index({torch::indexing::Slice(), -1})}});
  }
  const at::Tensor loss = losses::mean_squared_error(labels.tensor(), forecast, ctx);
  if (mode == ModeKeys::kEval) return EstimatorSpec::eval(loss);
  return EstimatorSpec::train(loss, Adam({.learning_rate = 0.01}).minimize(loss, ctx));
}

TensorDict series(int64_t rows) { return {{"series", some_floats({rows, kSteps, kSensors})}}; }

}  // namespace

GalleryModels convolutions_over_time() {
  const auto receiver = build_raw_serving_input_receiver_fn({{"series", TensorSpec{.shape = {-1, kSteps, kSensors}}}});
  return {
      {.name = "convolutions_over_time",
       .estimator = estimator_of(activity_fn),
       .request = series,
       .labels = [](const Features& features) -> Labels { return features["series"].sum(1).argmax(1); },
       .receiver = receiver},
      {.name = "causal_convolutions",
       .estimator = estimator_of(forecast_fn),
       .request = series,
       .labels = [](const Features& features) -> Labels { return features["series"].select(2, 0).roll(-1, 1); },
       .receiver = receiver},
  };
}

}  // namespace belfry::testing
