#include <torch/torch.h>

#include <map>
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

// For each variable of the model, where it is.
struct Places {
  std::mutex mutex;
  std::map<std::string, std::string> of_variable;
};

ModelFn noted(Places& places) {
  return [&places](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    EstimatorSpec spec = classifier(features, labels, mode, ctx);
    const std::lock_guard lock(places.mutex);
    for (const Variable* variable : ctx.store().variables(VariableKind::kParameter)) {
      places.of_variable[variable->name()] = variable->value().device().str();
    }
    return spec;
  };
}

std::map<std::string, std::string> places_with(const std::vector<std::string>& devices) {
  Places places;
  Estimator estimator(replicate_model_fn(noted(places), {.devices = devices}), RunConfig{.model_dir = ""});
  estimator.train(classifier_input(), {.steps = 2});
  return places.of_variable;
}

std::map<std::string, std::string> all_on(const std::string& device) {
  return {{"net/hidden/weight", device},
          {"net/hidden/bias", device},
          {"net/logits/weight", device},
          {"net/logits/bias", device}};
}

TEST_CASE("One GPU, however it is written, holds the variables", "[gpu][R5]") {
  NEEDS_GPUS(1);
  for (const char* name : {"cuda:0", "/gpu:0", "/GPU:0", "GPU"}) {
    INFO(name);
    CHECK(places_with({name}) == all_on("cuda:0"));
  }
}

TEST_CASE("Several towers with a GPU among them: one set of variables, on the CPU", "[gpu][R6][R9]") {
  NEEDS_GPUS(1);
  CHECK(places_with({"/gpu:0", "/cpu:0"}) == all_on("cpu"));
  CHECK(places_with({"/GPU:0", "/gpu:0"}) == all_on("cpu"));
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
