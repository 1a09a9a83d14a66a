#include <torch/torch.h>

#include "tests/gpu/gpu_model.h"
#include "tests/gpu/gpu_testing.h"
#include "tests/support/temporary_directory.h"
#include "towers/replicate_model_fn.h"

namespace belfry::testing {
namespace {

constexpr int64_t kSteps = 30;
// Sums in float32 are taken in another order on a GPU; Adam divides small gradients by their own size.
constexpr double kTolerance = 2e-4;

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
