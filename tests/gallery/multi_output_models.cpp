// Several numbers from one model, and several signatures.
#include <torch/torch.h>

#include "gallery.h"

namespace belfry::testing {
namespace {

namespace nn = torch::nn;

TensorDict eight_numbers(int64_t rows) { return {{"x", some_floats({rows, 8})}}; }
Labels noisy_sum(const Features& features) { return features["x"].sum(1) + torch::randn({features.rows()}); }

// The 10th, 50th and 90th percentile, by the pinball loss.
EstimatorSpec quantiles_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto net = ctx.module("net", [] { return nn::Sequential(nn::Linear(8, 16), nn::SELU(), nn::Linear(16, 3)); });
  const at::Tensor steps = net->forward(features["x"]);
  // Quantiles that do not cross: each is the one before plus something positive.
  const at::Tensor quantiles =
      torch::cat({steps.slice(1, 0, 1), steps.slice(1, 0, 1) + torch::softplus(steps.slice(1, 1)).cumsum(1)}, 1);
  const auto parts = quantiles.unbind(1);
  if (mode == ModeKeys::kPredict) {
    return EstimatorSpec::predict({{"low", parts[0]},
                                   {"median", parts[1]},
                                   {"high", parts[2]},
                                   {"spread", parts[2] - parts[0]},
                                   {"is_certain", (parts[2] - parts[0]) < 1.5}});
  }
  const at::Tensor error = labels.tensor().unsqueeze(1) - quantiles;
  const at::Tensor level = torch::tensor({0.1F, 0.5F, 0.9F});
  const at::Tensor loss = losses::compute_weighted_loss(torch::maximum(level * error, (level - 1) * error), ctx);
  if (mode == ModeKeys::kEval) return EstimatorSpec::eval(loss);
  return EstimatorSpec::train(loss, RMSProp({.learning_rate = 0.01}).minimize(loss, ctx));
}

struct TwoHeadsImpl : nn::Module {
  nn::Linear trunk{register_module("trunk", nn::Linear(8, 16))};
  nn::Linear kind{register_module("kind", nn::Linear(16, 4))};
  nn::Linear price{register_module("price", nn::Linear(16, 1))};
};
TORCH_MODULE(TwoHeads);

// A class and a number from one trunk; who serves it asks for one of them, or for all.
EstimatorSpec two_tasks_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto net = ctx.module<TwoHeads>("net");
  const at::Tensor trunk = torch::leaky_relu(net->trunk(features["x"]), 0.1);
  const at::Tensor kind = net->kind(trunk);
  const at::Tensor price = torch::exp(net->price(trunk)).squeeze(-1);
  const auto [best, best_ids] = kind.softmax(1).topk(2, 1);
  const Predictions predictions{{"kind", kind.softmax(-1)}, {"price", price}, {"best", best}, {"best_ids", best_ids}};
  if (mode == ModeKeys::kPredict) {
    const std::vector<std::string> names{"apple", "pear", "plum", "quince"};
    return EstimatorSpec::predict(predictions,
                                  {{kServingDefault, PredictOutput{predictions}},
                                   {"kind", ClassificationOutput{.scores = predictions["kind"], .class_names = names}},
                                   {"price", RegressionOutput{price}}});
  }
  const at::Tensor loss = losses::sparse_softmax_cross_entropy(labels["kind"], kind, ctx) +
                          0.1 * losses::mean_squared_error(labels["price"], price, ctx);
  if (mode == ModeKeys::kEval) {
    return EstimatorSpec::eval(loss, {{"accuracy", metrics::accuracy(labels["kind"], kind.argmax(1))}});
  }
  return EstimatorSpec::train(loss, Adam({.learning_rate = 0.01}).minimize(loss, ctx));
}

Labels kind_and_price(const Features& features) {
  return {{"kind", features["x"].narrow(1, 0, 4).argmax(1)}, {"price", features["x"].norm(2, {1})}};
}

// Mean and deviation of what was seen, kept beside the weights: buffers that training moves.
struct NormalizerImpl : nn::Module {
  at::Tensor forward(const at::Tensor& x) {
    if (is_training()) {
      const torch::NoGradGuard no_grad;
      mean.lerp_(x.mean(0), 0.1);
      deviation.lerp_(x.std(0), 0.1);
    }
    return (x - mean) / (deviation + 1e-6);
  }

  at::Tensor mean{register_buffer("mean", torch::zeros({8}))};
  at::Tensor deviation{register_buffer("deviation", torch::ones({8}))};
};
TORCH_MODULE(Normalizer);

EstimatorSpec normalized_input_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto normalizer = ctx.module<Normalizer>("normalizer");
  auto net = ctx.module<nn::Linear>("net", 8, 1);
  const at::Tensor y = net(normalizer(features["x"]).clamp(-3, 3)).squeeze(1);
  if (mode == ModeKeys::kPredict) return EstimatorSpec::predict(y);
  const at::Tensor loss = losses::huber_loss(labels.tensor(), y, ctx);
  if (mode == ModeKeys::kEval) return EstimatorSpec::eval(loss);
  return EstimatorSpec::train(loss, GradientDescent({.learning_rate = 0.05}).minimize(loss, ctx));
}

struct ExpertsImpl : nn::Module {
  ExpertsImpl(int64_t count, int64_t inputs, int64_t outputs)
      : gate(register_module("gate", nn::Linear(inputs, count))) {
    for (int64_t i = 0; i < count; ++i) {
      experts->push_back(nn::Sequential(nn::Linear(inputs, 12), nn::ReLU(), nn::Linear(12, outputs)));
    }
    register_module("experts", experts);
  }

  // [batch, outputs] and the share of each expert.
  std::pair<at::Tensor, at::Tensor> forward(const at::Tensor& x) {
    std::vector<at::Tensor> answers;
    for (const auto& expert : *experts) answers.push_back(expert->as<nn::Sequential>()->forward(x));
    const at::Tensor shares = torch::softmax(gate(x), 1);
    return {torch::einsum("be,beo->bo", {shares, torch::stack(answers, 1)}), shares};
  }

  nn::Linear gate;
  nn::ModuleList experts;
};
TORCH_MODULE(Experts);

EstimatorSpec experts_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto net = ctx.module<Experts>("net", 4, 8, 1);
  const auto [answer, shares] = net->forward(features["x"]);
  const at::Tensor y = answer.view({-1});
  if (mode == ModeKeys::kPredict) {
    return EstimatorSpec::predict({{"y", y}, {"shares", shares}, {"expert", std::get<1>(shares.max(1))}});
  }
  const at::Tensor loss = losses::mean_squared_error(labels.tensor(), y, ctx);
  if (mode == ModeKeys::kEval) return EstimatorSpec::eval(loss);
  return EstimatorSpec::train(loss, Momentum({.learning_rate = 0.01, .momentum = 0.9}).minimize(loss, ctx));
}

}  // namespace

GalleryModels multi_output_models() {
  const auto receiver = build_raw_serving_input_receiver_fn({{"x", TensorSpec{.shape = {-1, 8}}}});
  return {
      {.name = "quantile_regression",
       .estimator = estimator_of(quantiles_fn),
       .request = eight_numbers,
       .labels = noisy_sum,
       .receiver = receiver},
      {.name = "two_tasks_three_signatures",
       .estimator = estimator_of(two_tasks_fn),
       .request = eight_numbers,
       .labels = kind_and_price,
       .receiver = receiver,
       .predictions = {{"kind/scores", "kind"}, {"price/outputs", "price"}},
       .class_names = {{"kind", {"apple", "pear", "plum", "quince"}}}},
      {.name = "inputs_normalized_by_buffers",
       .estimator = estimator_of(normalized_input_fn),
       .request = eight_numbers,
       .labels = noisy_sum,
       .receiver = receiver,
       .predictions = {{"serving_default/output", ""}}},
      {.name = "mixture_of_experts",
       .estimator = estimator_of(experts_fn),
       .request = eight_numbers,
       .labels = noisy_sum,
       .receiver = receiver},
  };
}

}  // namespace belfry::testing
