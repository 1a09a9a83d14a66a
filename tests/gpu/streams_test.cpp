#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/torch.h>

#include <map>
#include <mutex>
#include <set>

#include "distribute/internal/device_streams.h"
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

c10::Stream current_stream() { return c10::impl::VirtualGuardImpl(at::kCUDA).getStream(kGpu); }
c10::Stream default_stream() { return c10::impl::VirtualGuardImpl(at::kCUDA).getDefaultStream(kGpu); }

// Keeps a stream busy for some milliseconds, so that who does not wait for it reads too early.
at::Tensor slow_ones() {
  at::Tensor square = at::full({2048, 2048}, 1.0 / 2048, at::TensorOptions(kGpu));
  for (int i = 0; i < 40; ++i) square = at::matmul(square, square);
  return square.mul_(2048).round_();
}

TEST_CASE("Two towers on one GPU keep a stream each, neither of them the default one", "[gpu][streams]") {
  NEEDS_GPUS(1);
  std::mutex mutex;
  std::map<int, std::set<c10::StreamId>> seen;
  const ModelFn model = [&](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    const std::lock_guard lock(mutex);
    seen[ctx.tower_index()].insert(current_stream().id());
    return classifier(features, labels, mode, ctx);
  };
  Estimator estimator(replicate_model_fn(model, {.devices = {"cuda:0", "cuda:0"}}), RunConfig{.model_dir = ""});
  estimator.train(classifier_input(), {.steps = 5});
  REQUIRE(seen[0].size() == 1);
  REQUIRE(seen[1].size() == 1);
  CHECK(seen[0] != seen[1]);
  CHECK(seen[0].count(default_stream().id()) == 0);
  CHECK(seen[1].count(default_stream().id()) == 0);
  CHECK(current_stream() == default_stream());
}

TEST_CASE("Work on a stream sees what the default stream made, and is seen by it", "[gpu][streams]") {
  NEEDS_GPUS(1);
  const at::Tensor before = slow_ones();
  at::Tensor within;
  internal::run_on_stream(internal::new_stream(kGpu), [&] { within = slow_ones() + before; });
  CHECK(at::equal((within + 1).cpu(), at::full({2048, 2048}, 3.0)));
}

TEST_CASE("Gradients that towers exchange in the middle of a step are complete when they are read", "[gpu][streams]") {
  NEEDS_GPUS(1);
  // The loss of a row is sum(w * x) for a slowly made x of ones, so the gradient of each of the rows is one.
  const ModelFn model = [](const Features& features, const Labels&, ModeKeys, ModelContext& ctx) {
    const at::Tensor w = ctx.variable("w", [] { return at::zeros({2048, 2048}); });
    const at::Tensor rows = features["x"].mean();
    const at::Tensor loss = losses::mean((w * slow_ones()).sum().reshape({1}) * rows, ctx);
    const TowerOptimizer optimizer(GradientDescent({.learning_rate = 1.0}));
    return EstimatorSpec::train(loss, optimizer.apply_gradients(optimizer.compute_gradients(loss, ctx), ctx));
  };
  const TemporaryDirectory folder;
  Estimator estimator(replicate_model_fn(model, {.devices = {"cuda:0", "cuda:0"}}),
                      RunConfig{.model_dir = folder.file("model")});
  const InputFn input = [] { return Dataset::from_tensors({{"x", at::ones({4, 1})}}).repeat().batch(4); };
  estimator.train(input, {.steps = 3});
  CHECK(at::equal(estimator.get_variable_value("w"), at::full({2048, 2048}, -3.0)));
}

}  // namespace
}  // namespace belfry::testing
