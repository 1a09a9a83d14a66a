#include <torch/torch.h>

#include <mutex>
#include <set>
#include <string>

#include "tests/gpu/gpu_model.h"
#include "tests/gpu/gpu_testing.h"
#include "tests/support/temporary_directory.h"
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

}  // namespace
}  // namespace belfry::testing
