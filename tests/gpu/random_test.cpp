#include <torch/torch.h>

#include "distribute/random_scope.h"
#include "estimator/losses/losses.h"
#include "optimizers/gradient_descent.h"
#include "tests/gpu/gpu_model.h"
#include "tests/gpu/gpu_testing.h"
#include "tests/support/temporary_directory.h"
#include "towers/replicate_model_fn.h"
#include "towers/tower_optimizer.h"

namespace belfry::testing {
namespace {

const at::Device kGpu(at::kCUDA, 0);

at::Tensor ones() { return at::ones({4096}, at::TensorOptions(kGpu)); }

at::Tensor global_state() { return at::globalContext().defaultGenerator(kGpu).get_state(); }

TEST_CASE("Dropout on a GPU depends on the scope's seed alone and leaves the process's generator", "[gpu][random]") {
  NEEDS_GPUS(1);
  const at::Tensor q = at::ones({1, 2, 64, 16}, at::TensorOptions(kGpu));
  const std::vector<std::function<at::Tensor()>> operations{
      [] { return at::dropout(ones(), 0.5, true); },
      [] { return std::get<0>(at::native_dropout(ones(), 0.5, true)); },
      [] {
        return at::feature_dropout(at::ones({64, 64, 2}, at::TensorOptions(kGpu)), 0.5, true);
      },
      [] { return at::rand({64}, at::TensorOptions(kGpu)); },
      [&] { return at::scaled_dot_product_attention(q, q, q.cumsum(2), {}, 0.5); },
  };
  const at::Tensor before = global_state();
  for (size_t i = 0; i < operations.size(); ++i) {
    INFO("operation " << i);
    const auto draw = [&](uint64_t seed) {
      const RandomScope scope(seed);
      return operations[i]().cpu();
    };
    const at::Tensor first = draw(7);
    CHECK(at::equal(first, draw(7)));
    CHECK_FALSE(at::equal(first, draw(8)));
  }
  CHECK(at::equal(before, global_state()));
}

TEST_CASE("A GPU named without its number draws from the same generator", "[gpu][random]") {
  NEEDS_GPUS(1);
  const RandomScope scope(7);
  const at::Tensor first = at::rand({64}, at::TensorOptions(kGpu)).cpu();
  CHECK_FALSE(at::equal(at::rand({64}, at::TensorOptions(at::Device(at::kCUDA))).cpu(), first));
}

ModelFn with_dropout() {
  return [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    auto net = ctx.module("net", [] { return torch::nn::Linear(16, 4); });
    const at::Tensor logits = net->forward(at::dropout(features["x"], 0.5, true));
    const at::Tensor loss = losses::sparse_softmax_cross_entropy(labels.tensor(), logits, ctx);
    const TowerOptimizer optimizer(GradientDescent({.learning_rate = 0.1}));
    return EstimatorSpec::train(loss, optimizer.minimize(loss, ctx));
  };
}

Estimator train_with_dropout(const std::string& model_dir, uint64_t seed) {
  Estimator estimator(replicate_model_fn(with_dropout(), {.devices = {"cuda:0", "cuda:0"}}),
                      RunConfig{.model_dir = model_dir, .random_seed = seed});
  estimator.train(classifier_input(), {.steps = 20});
  return estimator;
}

TEST_CASE("Training with dropout in two towers on a GPU can be repeated with a seed", "[gpu][random]") {
  NEEDS_GPUS(1);
  const TemporaryDirectory folder;
  Estimator first = train_with_dropout(folder.file("first"), 1);
  CHECK(largest_difference(first, train_with_dropout(folder.file("again"), 1)) < 1e-6);
  CHECK(largest_difference(first, train_with_dropout(folder.file("other"), 2)) > 1e-3);
}

}  // namespace
}  // namespace belfry::testing
