#include <vector>

#include "tests/testing.h"
#include "tests/towers/abs_model.h"
#include "towers/replicate_model_fn.h"

namespace belfry {
namespace {

using testing::scalar_variable;
using testing::TowerRunner;
using testing::towers;

ModelFn dropout_model() {
  return [](const Features& features, const Labels&, ModeKeys, ModelContext& ctx) {
    const at::Tensor dropped = at::dropout(features.tensor(), 0.5, /*train=*/true);
    const at::Tensor loss = dropped.sum() * scalar_variable(ctx, "c", 10);
    TowerOptimizer optimizer(GradientDescent({.learning_rate = 0.01}));
    return EstimatorSpec::train(loss, optimizer.minimize(loss, ctx), {.predictions = {{"dropped", dropped}}});
  };
}

TEST_CASE("replicate_model_fn: dropout differs between towers and steps, and repeats for a seed",
          "[towers][replicate][random]") {
  const at::Tensor x = at::ones({64, 8}, at::kDouble);
  const auto masks = [&](uint64_t seed) {
    TowerRunner runner(towers(dropout_model(), 2), seed);
    std::vector<at::Tensor> both;
    for (int step = 0; step < 2; ++step) {
      both.push_back(runner.train_and_discard(x, x).predictions["dropped"]);
      runner.train(x, x);
    }
    return both;
  };
  const auto first = masks(1);
  CHECK_FALSE(at::equal(first[0].narrow(0, 0, 32), first[0].narrow(0, 32, 32)));
  CHECK_FALSE(at::equal(first[0], first[1]));
  const auto again = masks(1);
  CHECK(at::equal(first[0], again[0]));
  CHECK(at::equal(first[1], again[1]));
  CHECK_FALSE(at::equal(first[0], masks(2)[0]));
}

TEST_CASE("replicate_model_fn: the process's generator is not touched by towers", "[towers][replicate][random]") {
  const at::Tensor x = at::ones({8, 2}, at::kDouble);
  at::manual_seed(5);
  const at::Tensor expected = at::rand({4});
  at::manual_seed(5);
  TowerRunner runner(towers(dropout_model(), 2));
  runner.train(x, x);
  CHECK(at::equal(at::rand({4}), expected));
}

}  // namespace
}  // namespace belfry
