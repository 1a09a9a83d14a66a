// Patches of an image, mixed by dense layers along one axis and then the other.
#include <torch/torch.h>

#include "gallery.h"

namespace belfry::testing {
namespace {

namespace nn = torch::nn;

constexpr int64_t kPatches = 16;
constexpr int64_t kWidth = 6;

struct MixerBlockImpl : nn::Module {
  at::Tensor forward(at::Tensor x) {
    x = x + places->forward(norm1(x).transpose(1, 2)).transpose(1, 2);
    return x + channels->forward(norm2(x)) * scale;
  }

  nn::LayerNorm norm1{register_module("norm1", nn::LayerNorm(nn::LayerNormOptions({kWidth})))};
  nn::LayerNorm norm2{register_module("norm2", nn::LayerNorm(nn::LayerNormOptions({kWidth})))};
  nn::Sequential places{
      register_module("places", nn::Sequential(nn::Linear(kPatches, 8), nn::GELU(), nn::Linear(8, kPatches)))};
  nn::Sequential channels{
      register_module("channels", nn::Sequential(nn::Linear(kWidth, 12), nn::SiLU(), nn::Linear(12, kWidth)))};
  at::Tensor scale{register_parameter("scale", torch::full({kWidth}, 0.5))};
};
TORCH_MODULE(MixerBlock);

struct MixerImpl : nn::Module {
  explicit MixerImpl(int64_t blocks) {
    for (int64_t i = 0; i < blocks; ++i) mixers->push_back(MixerBlock());
    register_module("mixers", mixers);
  }

  at::Tensor forward(const at::Tensor& image) {
    // [batch, 1, 16, 16] to 4 x 4 patches of 4 x 4 pixels.
    const at::Tensor patches = image.unfold(2, 4, 4).unfold(3, 4, 4).contiguous().view({image.size(0), kPatches, 16});
    at::Tensor x = activation(embed(patches).transpose(1, 2)).transpose(1, 2);  // a slope for each channel
    for (const auto& mixer : *mixers) x = mixer->as<MixerBlock>()->forward(x);
    return logits(x.mean(1));
  }

  nn::Linear embed{register_module("embed", nn::Linear(16, kWidth))};
  nn::PReLU activation{register_module("activation", nn::PReLU(nn::PReLUOptions().num_parameters(kWidth)))};
  nn::ModuleList mixers;
  nn::Linear logits{register_module("logits", nn::Linear(kWidth, 3))};
};
TORCH_MODULE(Mixer);

EstimatorSpec mixer_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto net = ctx.module<Mixer>("mixer", 2);
  const at::Tensor logits = net(features["image"]);
  if (mode == ModeKeys::kPredict) {
    const auto [sorted, order] = logits.sort(1, /*descending=*/true);
    return EstimatorSpec::predict(
        {{"probabilities", logits.softmax(1)}, {"ranking", order}, {"margin", sorted.diff(1, 1)}});
  }
  const at::Tensor loss = losses::sparse_softmax_cross_entropy(labels.tensor(), logits, ctx);
  if (mode == ModeKeys::kEval) return EstimatorSpec::eval(loss);
  return EstimatorSpec::train(loss, Adam({.learning_rate = 0.01}).minimize(loss, ctx));
}

}  // namespace

GalleryModels mixer_models() {
  return {{.name = "mixer",
           .estimator = estimator_of(mixer_fn),
           .request =
               [](int64_t rows) {
                 return TensorDict{{"image", some_floats({rows, 1, 16, 16})}};
               },
           .labels = [](const Features& features) -> Labels {
             return features["image"].flatten(1).narrow(1, 0, 3).argmax(1);
           },
           .receiver = build_raw_serving_input_receiver_fn({{"image", TensorSpec{.shape = {-1, 1, 16, 16}}}})}};
}

}  // namespace belfry::testing
