// Convolutions that end in classes.
#include <torch/torch.h>

#include "gallery.h"

namespace belfry::testing {
namespace {

namespace nn = torch::nn;
namespace F = torch::nn::functional;

EstimatorSpec classifier_spec(const at::Tensor& logits, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  if (mode == ModeKeys::kPredict) {
    return EstimatorSpec::predict({{"probabilities", F::softmax(logits, F::SoftmaxFuncOptions(1))},
                                   {"log_probabilities", F::log_softmax(logits, F::LogSoftmaxFuncOptions(-1))},
                                   {"class_ids", logits.argmax(-1)}});
  }
  const at::Tensor loss = losses::sparse_softmax_cross_entropy(labels.tensor(), logits, ctx);
  if (mode == ModeKeys::kEval) return EstimatorSpec::eval(loss);
  return EstimatorSpec::train(loss, Adam({.learning_rate = 0.005}).minimize(loss, ctx));
}

// LeNet-5, smaller. Pixels are bytes, [batch, 16, 16, 1], as image files give them.
struct LeNetImpl : nn::Module {
  at::Tensor forward(const at::Tensor& pixels) {
    at::Tensor x = pixels.permute({0, 3, 1, 2}).to(torch::kFloat32).div(255);
    x = F::max_pool2d(torch::relu(first->forward(x)), F::MaxPool2dFuncOptions(2));
    x = F::avg_pool2d(torch::tanh(second->forward(x)), F::AvgPool2dFuncOptions(2));
    x = x.flatten(1);
    x = F::dropout(torch::relu(hidden->forward(x)), F::DropoutFuncOptions().p(0.25).training(is_training()));
    return logits->forward(x);
  }

  nn::Conv2d first{register_module("first", nn::Conv2d(nn::Conv2dOptions(1, 4, 5).padding(2)))};
  nn::Conv2d second{register_module("second", nn::Conv2d(4, 6, 3))};
  nn::Linear hidden{register_module("hidden", nn::Linear(6 * 3 * 3, 16))};
  nn::Linear logits{register_module("logits", nn::Linear(16, 4))};
};
TORCH_MODULE(LeNet);

EstimatorSpec lenet_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto net = ctx.module<LeNet>("lenet");
  return classifier_spec(net(features["image"]), labels, mode, ctx);
}

// Two convolutions beside a short cut, which is one of 1 x 1 where sizes change.
struct ResidualBlockImpl : nn::Module {
  ResidualBlockImpl(int64_t in, int64_t out, int64_t stride)
      : body(register_module(
            "body",
            nn::Sequential(nn::Conv2d(nn::Conv2dOptions(in, out, 3).stride(stride).padding(1).bias(false)),
                           nn::BatchNorm2d(out), nn::ReLU(nn::ReLUOptions(true)),
                           nn::Conv2d(nn::Conv2dOptions(out, out, 3).padding(1).bias(false)), nn::BatchNorm2d(out)))) {
    if (in == out && stride == 1) return;
    short_cut = register_module(
        "short_cut",
        nn::Sequential(nn::Conv2d(nn::Conv2dOptions(in, out, 1).stride(stride).bias(false)), nn::BatchNorm2d(out)));
  }

  at::Tensor forward(const at::Tensor& x) {
    at::Tensor y = body->forward(x);
    y += short_cut.is_empty() ? x : short_cut->forward(x);
    return y.relu_();
  }

  nn::Sequential body, short_cut{nullptr};
};
TORCH_MODULE(ResidualBlock);

EstimatorSpec residual_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto net = ctx.module("resnet", [] {
    return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(3, 8, 3).padding(1).bias(false)), nn::BatchNorm2d(8),
                          nn::ReLU(nn::ReLUOptions(true)), nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2).padding(1)),
                          ResidualBlock(8, 8, 1), ResidualBlock(8, 12, 2), nn::AdaptiveAvgPool2d(1), nn::Flatten(),
                          nn::Linear(12, 4));
  });
  return classifier_spec(net->forward(features["image"]), labels, mode, ctx);
}

// One filter for each channel, then a mix of the channels, as MobileNet has them; with squeeze and excitation.
struct SeparableBlockImpl : nn::Module {
  SeparableBlockImpl(int64_t in, int64_t out, int64_t stride)
      : depthwise(register_module(
            "depthwise", nn::Conv2d(nn::Conv2dOptions(in, in, 3).stride(stride).padding(1).groups(in).bias(false)))),
        depthwise_norm(register_module("depthwise_norm", nn::BatchNorm2d(in))),
        squeeze(register_module("squeeze", nn::Conv2d(nn::Conv2dOptions(in, in / 2, 1)))),
        excite(register_module("excite", nn::Conv2d(nn::Conv2dOptions(in / 2, in, 1)))),
        pointwise(register_module("pointwise", nn::Conv2d(nn::Conv2dOptions(in, out, 1).bias(false)))),
        pointwise_norm(register_module("pointwise_norm", nn::BatchNorm2d(out))) {}

  at::Tensor forward(at::Tensor x) {
    x = torch::hardtanh(depthwise_norm(depthwise(x)), 0, 6);
    const at::Tensor share = torch::hardsigmoid(excite(torch::relu(squeeze(x.mean({2, 3}, true)))));
    x = pointwise_norm(pointwise(x * share));
    return torch::hardswish(x);
  }

  nn::Conv2d depthwise;
  nn::BatchNorm2d depthwise_norm;
  nn::Conv2d squeeze, excite, pointwise;
  nn::BatchNorm2d pointwise_norm;
};
TORCH_MODULE(SeparableBlock);

EstimatorSpec separable_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto net = ctx.module("mobilenet", [] {
    return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(3, 8, 3).stride(2).padding(1)), nn::ReLU6(),
                          SeparableBlock(8, 12, 1), SeparableBlock(12, 16, 2));
  });
  auto logits = ctx.module<nn::Linear>("logits", 16, 4);
  const at::Tensor pooled = net->forward(features["image"]).mean({-2, -1});
  return classifier_spec(logits(pooled), labels, mode, ctx);
}

TensorDict byte_images(int64_t rows) { return {{"image", some_ids({rows, 16, 16, 1}, 256).to(at::kByte)}}; }
TensorDict color_images(int64_t rows) { return {{"image", some_floats({rows, 3, 16, 16})}}; }
Labels brightness(const Features& features) {
  return features["image"].to(at::kFloat).flatten(1).narrow(1, 0, 4).argmax(1);
}

}  // namespace

GalleryModels image_classifiers() {
  const auto colors = build_raw_serving_input_receiver_fn({{"image", TensorSpec{.shape = {-1, 3, 16, 16}}}});
  return {
      {.name = "lenet",
       .estimator = estimator_of(lenet_fn),
       .request = byte_images,
       .labels = brightness,
       .receiver = build_raw_serving_input_receiver_fn(
           {{"image", TensorSpec{.dtype = at::kByte, .shape = {-1, 16, 16, 1}, .low = 0, .high = 256}}})},
      {.name = "residual_convolutions",
       .estimator = estimator_of(residual_fn),
       .request = color_images,
       .labels = brightness,
       .receiver = colors},
      {.name = "separable_convolutions",
       .estimator = estimator_of(separable_fn),
       .request = color_images,
       .labels = brightness,
       .receiver = colors},
  };
}

}  // namespace belfry::testing
