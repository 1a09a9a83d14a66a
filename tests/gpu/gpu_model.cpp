#include "tests/gpu/gpu_model.h"

#include <torch/torch.h>

#include <algorithm>

#include "estimator/losses/losses.h"
#include "estimator/metrics/counts.h"
#include "optimizers/adam.h"
#include "towers/replicate_model_fn.h"
#include "towers/tower_optimizer.h"

namespace belfry::testing {
namespace {

struct NetImpl : torch::nn::Module {
  NetImpl()
      : hidden(register_module("hidden", torch::nn::Linear(16, 32))),
        logits(register_module("logits", torch::nn::Linear(32, 4))) {}
  at::Tensor forward(const at::Tensor& x) { return logits(torch::tanh(hidden(x))); }
  torch::nn::Linear hidden;
  torch::nn::Linear logits;
};
TORCH_MODULE(Net);

}  // namespace

EstimatorSpec classifier(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto net = ctx.module<Net>("net");
  const at::Tensor logits = net(features["x"]);
  if (mode == ModeKeys::kPredict) return EstimatorSpec::predict({{"logits", logits}});
  const at::Tensor loss = losses::sparse_softmax_cross_entropy(labels.tensor(), logits, ctx);
  if (mode == ModeKeys::kEval) {
    return EstimatorSpec::eval(loss, {{"accuracy", metrics::accuracy(labels.tensor(), logits.argmax(1))}});
  }
  return EstimatorSpec::train(loss, TowerOptimizer(Adam({.learning_rate = 0.01})).minimize(loss, ctx));
}

InputFn classifier_input() {
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(7);
  const at::Tensor x = torch::randn({96, 16}, generator);
  const at::Tensor y = x.narrow(1, 0, 4).argmax(1);
  return [x, y] { return Dataset::from_tensors({{"x", x}}, y).repeat().batch(24); };
}

Estimator train_classifier(const std::vector<std::string>& devices, const std::string& model_dir, int64_t steps) {
  Estimator estimator(replicate_model_fn(classifier, {.devices = devices}), RunConfig{.model_dir = model_dir});
  estimator.train(classifier_input(), {.max_steps = steps});
  return estimator;
}

double largest_difference(const Estimator& a, const Estimator& b) {
  double largest = 0;
  for (const std::string& name : a.get_variable_names()) {
    if (name.starts_with("belfry/")) continue;
    const at::Tensor difference = a.get_variable_value(name).to(at::kDouble) - b.get_variable_value(name);
    largest = std::max(largest, difference.abs().max().item<double>());
  }
  return largest;
}

}  // namespace belfry::testing
