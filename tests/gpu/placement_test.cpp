#include <torch/torch.h>

#include <mutex>
#include <set>
#include <string>

#include "tests/gpu/gpu_model.h"
#include "tests/gpu/gpu_testing.h"
#include "tests/support/temporary_directory.h"
#include "tests/towers/abs_model.h"
#include "towers/replicate_model_fn.h"

namespace belfry::testing {
namespace {

// Which devices the model_fn saw, and where features, parameters and logits were.
struct Sightings {
  std::mutex mutex;
  std::set<std::string> devices;
  std::set<std::string> tensors;
};

ModelFn watched(Sightings& seen) {
  return [&seen](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    EstimatorSpec spec = classifier(features, labels, mode, ctx);
    const std::lock_guard lock(seen.mutex);
    seen.devices.insert(ctx.device().str());
    seen.tensors.insert(features["x"].device().str());
    for (const auto& [name, tensor] : ctx.replica().named_tensors()) seen.tensors.insert(tensor.device().str());
    return spec;
  };
}

TEST_CASE("One GPU: features, parameters and variables are on it", "[gpu]") {
  NEEDS_GPUS(1);
  Sightings seen;
  Estimator estimator(replicate_model_fn(watched(seen), {.devices = {"cuda:0"}}), RunConfig{.model_dir = ""});
  estimator.train(classifier_input(), {.steps = 2});
  CHECK(seen.devices == std::set<std::string>{"cuda:0"});
  CHECK(seen.tensors == std::set<std::string>{"cuda:0"});
}

TEST_CASE("places on gpu, upper and lower case: variables of one GPU are on it", "[gpu][R5]") {
  NEEDS_GPUS(1);
  for (const char* name : {"/GPU:0", "/gpu:0", "cuda:0"}) {
    INFO(name);
    TowerRunner runner(replicate_model_fn(abs_model, {.loss_reduction = LossReduction::kSum, .devices = {name}}));
    CHECK(runner.train(column({1, 2}), column({1, 2})) == 27);
    CHECK(runner.value("c").device() == at::Device(at::kCUDA, 0));
    CHECK(runner.store().device() == at::Device(at::kCUDA, 0));
    CHECK(runner.number("c") == 7);
  }
}

TEST_CASE("Several towers: variables are on the CPU, where their GPUs are one or several", "[gpu][R6]") {
  NEEDS_GPUS(1);
  for (const char* other : {"cpu:0", "cuda:0"}) {
    TowerRunner runner(
        replicate_model_fn(abs_model, {.loss_reduction = LossReduction::kSum, .devices = {"cuda:0", other}}));
    CHECK(runner.train(column({1, 2}), column({1, 2})) == 27);
    CHECK(runner.value("c").device() == at::Device(at::kCPU));
    CHECK(runner.number("c") == 7);
  }
}

TEST_CASE("Towers on a GPU and on the CPU: loss, metrics and predictions come together", "[gpu][R10][R16][R17]") {
  NEEDS_GPUS(1);
  for (const bool gpu_first : {false, true}) {
    const std::vector<std::string> devices =
        gpu_first ? std::vector<std::string>{"cuda:0", "cpu:0"} : std::vector<std::string>{"cpu:0", "cuda:0"};
    TowerRunner runner(replicate_model_fn(abs_model, {.loss_reduction = LossReduction::kSum, .devices = devices}));
    const at::Tensor features = column({.01, .002});
    const EstimatorSpec spec = runner.eval(features, column({.01, .02}));
    CHECK(spec.loss.item<double>() == Approx(0.09));
    CHECK(metric_value(spec, "accuracy") == Approx(0.5));
    const at::Tensor predicted = runner.predict(features).predictions["probabilities"];
    CHECK(predicted.is_cuda() == gpu_first);
    CHECK(at::allclose(predicted.cpu(), column({.1, .02})));
  }
}

TEST_CASE("A tower's GPU is the current one in its thread: \"cuda\" means it", "[gpu]") {
  NEEDS_GPUS(2);
  std::mutex mutex;
  std::set<std::pair<std::string, std::string>> seen;
  const ModelFn model = [&](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    const std::string made_on = at::zeros({1}, at::kCUDA).device().str();
    const std::lock_guard lock(mutex);
    seen.emplace(ctx.device().str(), made_on);
    return classifier(features, labels, mode, ctx);
  };
  Estimator estimator(replicate_model_fn(model, {.devices = {"cuda:0", "cuda:1"}}), RunConfig{.model_dir = ""});
  estimator.train(classifier_input(), {.steps = 1});
  CHECK(seen == std::set<std::pair<std::string, std::string>>{{"cuda:0", "cuda:0"}, {"cuda:1", "cuda:1"}});
}

TEST_CASE("No devices named: all GPUs are taken", "[gpu]") {
  NEEDS_GPUS(1);
  Sightings seen;
  Estimator estimator(replicate_model_fn(watched(seen)), RunConfig{.model_dir = ""});
  estimator.train(classifier_input(), {.steps = 1});
  CHECK(static_cast<int>(seen.devices.size()) == static_cast<int>(torch::cuda::device_count()));
  CHECK(seen.devices.count("cuda:0") == 1);
}

TEST_CASE("A GPU tower beside a CPU tower: each has its features and parameters on its own device", "[gpu]") {
  NEEDS_GPUS(1);
  Sightings seen;
  Estimator estimator(replicate_model_fn(watched(seen), {.devices = {"cpu:0", "cuda:0"}}), RunConfig{.model_dir = ""});
  estimator.train(classifier_input(), {.steps = 2});
  CHECK(seen.devices == std::set<std::string>{"cpu", "cuda:0"});
  CHECK(seen.tensors == std::set<std::string>{"cpu", "cuda:0"});
}

TEST_CASE("Predictions of a GPU model come in the order of the input", "[gpu]") {
  NEEDS_GPUS(1);
  const TemporaryDirectory folder;
  Estimator on_gpu = train_classifier({"cuda:0"}, folder.file("gpu"), 5);
  Estimator on_cpu(replicate_model_fn(classifier, {.devices = {"cpu:0"}}), RunConfig{.model_dir = folder.file("gpu")});
  const at::Tensor x = torch::linspace(-1, 1, 48).reshape({3, 16});
  const at::Tensor expected = on_cpu.predict({{"x", x}})["logits"];
  CHECK(torch::allclose(on_gpu.predict({{"x", x}})["logits"].cpu(), expected, 1e-4, 1e-5));
}

TEST_CASE("Two towers, on one GPU or beside the CPU, predict and evaluate as one device", "[gpu]") {
  NEEDS_GPUS(1);
  const TemporaryDirectory folder;
  Estimator one = train_classifier({"cpu:0"}, folder.file("model"), 5);
  const at::Tensor x = torch::linspace(-1, 1, 80).reshape({5, 16});
  const InputFn input = [] { return classifier_input()().take(4); };
  const EvalResult expected = one.evaluate(input);
  for (const char* second : {"cuda:0", "cpu:0"}) {
    INFO(second);
    Estimator two(replicate_model_fn(classifier, {.devices = {"cuda:0", second}}),
                  RunConfig{.model_dir = folder.file("model")});
    CHECK(torch::allclose(two.predict({{"x", x}})["logits"].cpu(), one.predict({{"x", x}})["logits"], 1e-4, 1e-5));
    const EvalResult result = two.evaluate(input);
    CHECK(result.loss() == Approx(expected.loss()).epsilon(1e-3));
    CHECK(result["accuracy"] == Approx(expected["accuracy"]).margin(1.0 / 96));
  }
}

}  // namespace
}  // namespace belfry::testing
