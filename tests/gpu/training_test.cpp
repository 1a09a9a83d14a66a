#include <torch/torch.h>

#include "estimator/losses/losses.h"
#include "optimizers/clip_gradients.h"
#include "optimizers/gradient_descent.h"
#include "tests/gpu/gpu_model.h"
#include "tests/gpu/gpu_testing.h"
#include "tests/support/temporary_directory.h"
#include "towers/replicate_model_fn.h"
#include "towers/tower_optimizer.h"

namespace belfry::testing {
namespace {

constexpr int64_t kSteps = 30;
// Sums in float32 are taken in another order on a GPU; Adam divides small gradients by their own size.
constexpr double kTolerance = 2e-4;
constexpr double kCudnnTolerance = 1e-3;  // cuDNN multiplies in TF32

// The last output of an LSTM over four rows of four numbers; its gradients are clipped.
ModelFn recurrent() {
  return [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    auto lstm = ctx.module("lstm", [] { return torch::nn::LSTM(torch::nn::LSTMOptions(4, 8).batch_first(true)); });
    const at::Tensor outputs = std::get<0>(lstm->forward(features["x"].reshape({-1, 4, 4})));
    const at::Tensor loss = losses::sparse_softmax_cross_entropy(labels.tensor(), outputs.select(1, 3), ctx);
    const TowerOptimizer optimizer(GradientDescent({.learning_rate = 0.1}));
    const auto gradients = clip_by_global_norm(optimizer.compute_gradients(loss, ctx), 0.1);
    return EstimatorSpec::train(loss, optimizer.apply_gradients(gradients, ctx));
  };
}

Estimator train_recurrent(const std::vector<std::string>& devices, const std::string& model_dir) {
  Estimator estimator(replicate_model_fn(recurrent(), {.devices = devices}), RunConfig{.model_dir = model_dir});
  estimator.train(classifier_input(), {.steps = kSteps});
  return estimator;
}

TEST_CASE("Training on a GPU gives the variables of training on the CPU", "[gpu]") {
  NEEDS_GPUS(1);
  const TemporaryDirectory folder;
  Estimator on_cpu = train_classifier({"cpu:0"}, folder.file("cpu"), kSteps);
  Estimator on_gpu = train_classifier({"cuda:0"}, folder.file("gpu"), kSteps);
  CHECK(largest_difference(on_cpu, on_gpu) < kTolerance);
  const InputFn input = [] { return classifier_input()().take(4); };
  const EvalResult expected = on_cpu.evaluate(input);
  const EvalResult result = on_gpu.evaluate(input);
  CHECK(result.loss() == Approx(expected.loss()).epsilon(1e-3));
  CHECK(result["accuracy"] == Approx(expected["accuracy"]).margin(1.0 / 96));
}

TEST_CASE("Two towers on one GPU give what one device gives", "[gpu]") {
  NEEDS_GPUS(1);
  const TemporaryDirectory folder;
  Estimator one = train_classifier({"cpu:0"}, folder.file("one"), kSteps);
  Estimator two = train_classifier({"cuda:0", "cuda:0"}, folder.file("two"), kSteps);
  CHECK(largest_difference(one, two) < kTolerance);
}

TEST_CASE("An LSTM, whose weights cuDNN wants in one memory, trains on a GPU, and on a GPU beside the CPU", "[gpu]") {
  NEEDS_GPUS(1);
  const TemporaryDirectory folder;
  Estimator one = train_recurrent({"cpu:0"}, folder.file("one"));
  CHECK(largest_difference(one, train_recurrent({"cuda:0"}, folder.file("gpu"))) < kCudnnTolerance);
  CHECK(largest_difference(one, train_recurrent({"cpu:0", "cuda:0"}, folder.file("both"))) < kCudnnTolerance);
}

TEST_CASE("Two GPUs give what one device gives", "[gpu]") {
  NEEDS_GPUS(2);
  const TemporaryDirectory folder;
  Estimator one = train_classifier({"cpu:0"}, folder.file("one"), kSteps);
  Estimator two = train_classifier({"cuda:0", "cuda:1"}, folder.file("two"), kSteps);
  CHECK(largest_difference(one, two) < kTolerance);
}

TEST_CASE("A run that changes from GPU to CPU in the middle ends as one on the CPU", "[gpu]") {
  NEEDS_GPUS(1);
  const TemporaryDirectory folder;
  Estimator on_cpu = train_classifier({"cpu:0"}, folder.file("cpu"), kSteps);
  train_classifier({"cuda:0"}, folder.file("both"), kSteps / 2);
  Estimator both(replicate_model_fn(classifier, {.devices = {"cpu:0"}}), RunConfig{.model_dir = folder.file("both")});
  both.train(classifier_input(), {.max_steps = kSteps, .continue_input = true});
  CHECK(largest_difference(on_cpu, both) < kTolerance);
}

}  // namespace
}  // namespace belfry::testing
