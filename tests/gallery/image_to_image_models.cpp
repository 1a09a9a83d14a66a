// Convolutions that end in images.
#include <torch/torch.h>

#include "gallery.h"

namespace belfry::testing {
namespace {

namespace nn = torch::nn;
namespace F = torch::nn::functional;

nn::Sequential two_convolutions(int64_t in, int64_t out) {
  return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(in, out, 3).padding(1)), nn::GroupNorm(2, out), nn::SiLU(),
                        nn::Conv2d(nn::Conv2dOptions(out, out, 3).padding(torch::kSame)), nn::ReLU());
}

// U-Net: what the way down saw is joined to the way up.
struct UNetImpl : nn::Module {
  at::Tensor forward(const at::Tensor& image) {
    const at::Tensor whole = down1->forward(image);
    const at::Tensor half = down2->forward(F::max_pool2d(whole, F::MaxPool2dFuncOptions(2)));
    const at::Tensor quarter = bottom->forward(F::max_pool2d(half, F::MaxPool2dFuncOptions(2)));
    at::Tensor x = up2->forward(torch::cat({raise2->forward(quarter), half}, 1));
    x = F::interpolate(x, F::InterpolateFuncOptions()
                              .size(std::vector<int64_t>{whole.size(2), whole.size(3)})
                              .mode(torch::kBilinear)
                              .align_corners(false));
    x = up1->forward(torch::cat({x, whole}, 1));
    return mask->forward(x);
  }

  nn::Sequential down1{register_module("down1", two_convolutions(3, 4))};
  nn::Sequential down2{register_module("down2", two_convolutions(4, 8))};
  nn::Sequential bottom{register_module("bottom", two_convolutions(8, 8))};
  nn::ConvTranspose2d raise2{
      register_module("raise2", nn::ConvTranspose2d(nn::ConvTranspose2dOptions(8, 8, 2).stride(2)))};
  nn::Sequential up2{register_module("up2", two_convolutions(16, 4))};
  nn::Sequential up1{register_module("up1", two_convolutions(8, 4))};
  nn::Conv2d mask{register_module("mask", nn::Conv2d(4, 1, 1))};
};
TORCH_MODULE(UNet);

EstimatorSpec segmentation_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto net = ctx.module<UNet>("unet");
  const at::Tensor logits = net(features["image"]).squeeze(1);
  if (mode == ModeKeys::kPredict) {
    const at::Tensor mask = logits > 0;
    return EstimatorSpec::predict({{"probability", torch::sigmoid(logits)},
                                   {"mask", mask},
                                   {"area", mask.sum({1, 2})},
                                   {"share", mask.to(torch::kFloat).mean({1, 2})}});
  }
  const at::Tensor loss = losses::sigmoid_cross_entropy(labels.tensor(), logits, ctx);
  if (mode == ModeKeys::kEval) return EstimatorSpec::eval(loss);
  return EstimatorSpec::train(loss, Adam({.learning_rate = 0.01}).minimize(loss, ctx));
}

// Twice the size: a bilinear image and what the network adds to it, whose channels become pixels.
struct SuperResolutionImpl : nn::Module {
  at::Tensor forward(const at::Tensor& image) {
    const at::Tensor smooth = F::interpolate(
        image,
        F::InterpolateFuncOptions().scale_factor(std::vector<double>{2, 2}).mode(torch::kBicubic).align_corners(false));
    const at::Tensor detail = torch::pixel_shuffle(net->forward(image), 2);
    return torch::clamp(smooth + detail, 0, 1);
  }

  nn::Sequential net{register_module(
      "net", nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 8, 5).padding(2).padding_mode(torch::kReplicate)),
                            nn::PReLU(), nn::Conv2d(nn::Conv2dOptions(8, 8, 3).padding(1)),
                            nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(0.2)),
                            nn::Conv2d(nn::Conv2dOptions(8, 4, 3).padding(1))))};
};
TORCH_MODULE(SuperResolution);

EstimatorSpec super_resolution_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto net = ctx.module<SuperResolution>("net");
  const at::Tensor image = net(features["image"]);
  if (mode == ModeKeys::kPredict) {
    // A byte for each image, not for each pixel: of thousands, some lie where the last bit decides the rounding.
    const at::Tensor brightness = (image.mean({1, 2, 3}) * 255).round().to(torch::kUInt8);
    return EstimatorSpec::predict({{"image", image}, {"brightness", brightness}});
  }
  const at::Tensor loss = losses::absolute_difference(labels.tensor(), image, ctx);
  if (mode == ModeKeys::kEval) return EstimatorSpec::eval(loss);
  return EstimatorSpec::train(loss, Adam({.learning_rate = 0.01}).minimize(loss, ctx));
}

}  // namespace

GalleryModels image_to_image_models() {
  return {
      {.name = "unet",
       .estimator = estimator_of(segmentation_fn),
       .request =
           [](int64_t rows) {
             return TensorDict{{"image", some_floats({rows, 3, 16, 16})}};
           },
       .labels = [](const Features& features) -> Labels { return features["image"].mean(1).gt(0).to(at::kFloat); },
       .receiver = build_raw_serving_input_receiver_fn({{"image", TensorSpec{.shape = {-1, 3, 16, 16}}}})},
      {.name = "super_resolution",
       .estimator = estimator_of(super_resolution_fn),
       .request =
           [](int64_t rows) {
             return TensorDict{{"image", some_floats({rows, 1, 8, 8}).sigmoid()}};
           },
       .labels = [](const Features& features) -> Labels {
         return features["image"].repeat_interleave(2, 2).repeat_interleave(2, 3);
       },
       .receiver = build_raw_serving_input_receiver_fn({{"image", TensorSpec{.shape = {-1, 1, 8, 8}}}})},
  };
}

}  // namespace belfry::testing
