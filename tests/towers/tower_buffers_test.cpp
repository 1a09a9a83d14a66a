// Buffers of modules under several towers: the running statistics of batch norm, and counters.
#include "tests/testing.h"
// testing.h has to come first

#include <ATen/ATen.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/batchnorm.h>

#include <atomic>
#include <functional>

#include "tests/towers/abs_model.h"

namespace belfry {
namespace {

using testing::column;
using testing::cpus;
using testing::doubles;
using testing::TowerRunner;

// Batch norm over one feature, with TensorFlow's decay of .9, and a counter of its calls.
struct NormImpl : torch::nn::Module {
  NormImpl()
      : mean(register_buffer("mean", at::zeros({1}, at::kDouble))),
        variance(register_buffer("variance", at::ones({1}, at::kDouble))),
        calls(register_buffer("calls", at::zeros({}, at::kLong))),
        scale(register_parameter("scale", at::ones({1}, at::kDouble))) {}

  at::Tensor forward(const at::Tensor& x) {
    if (is_training()) calls.add_(1);
    return at::batch_norm(x, scale, {}, mean, variance, is_training(), 0.1, 1e-5, /*cudnn_enabled=*/false);
  }

  at::Tensor mean;
  at::Tensor variance;
  at::Tensor calls;
  at::Tensor scale;
};

ModelFn norm_model(int extra_calls_of_tower_1 = 0, std::function<void(ModelContext&)> then = {}) {
  return [=](const Features& features, const Labels&, ModeKeys mode, ModelContext& ctx) {
    auto norm = ctx.module("norm", [] { return std::make_shared<NormImpl>(); });
    const at::Tensor normed = norm->forward(features.tensor());
    if (ctx.tower_index() == 1) norm->calls.add_(extra_calls_of_tower_1);
    if (then) then(ctx);
    if (mode == ModeKeys::kPredict) return EstimatorSpec::predict({{"normed", normed}});
    const at::Tensor loss = normed.square().mean();
    TowerOptimizer optimizer(GradientDescent({.learning_rate = 0.0}));
    return EstimatorSpec::train(loss, optimizer.minimize(loss, ctx));
  };
}

TowerRunner runner_of(ModelFn model_fn, int count) {
  return TowerRunner(replicate_model_fn(std::move(model_fn), {.devices = cpus(count), .min_rows_per_tower = 2}));
}

TEST_CASE("towers: running statistics move once a step, whatever the number of towers", "[towers][buffers]") {
  // Two rows a tower: means 1.5 and 3.5, unbiased variances 0.5 each.
  TowerRunner two = runner_of(norm_model(), 2);
  two.train(column({1, 2, 3, 4}), Labels());
  CHECK(two.value("norm/mean").item<double>() == Approx(0.25));
  CHECK(two.value("norm/variance").item<double>() == Approx(0.9 + 0.1 * 0.5));
  CHECK(two.value("norm/calls").item<int64_t>() == 1);
  TowerRunner one = runner_of(norm_model(), 1);
  one.train(column({1, 2, 3, 4}), Labels());
  CHECK(one.value("norm/mean").item<double>() == Approx(0.25));
}

TEST_CASE("towers: running statistics are averaged by rows", "[towers][buffers]") {
  TowerRunner two = runner_of(norm_model(), 2);
  two.train(column({1, 2, 3, 10, 20}), Labels());  // means 2 and 15 of 3 and 2 rows
  CHECK(two.value("norm/mean").item<double>() == Approx(0.1 * (2 * 3 + 15 * 2) / 5));
}

TEST_CASE("towers: batch norm over one row says which tower has it, and what helps", "[towers][buffers]") {
  const auto model = [](const Features& features, const Labels&, ModeKeys, ModelContext& ctx) {
    auto norm = ctx.module("norm", [] { return torch::nn::BatchNorm1d(1); });
    const at::Tensor loss = norm->forward(features.tensor().to(at::kFloat)).square().mean();
    return EstimatorSpec::train(loss, TowerOptimizer(GradientDescent({.learning_rate = 0.1})).minimize(loss, ctx));
  };
  TowerRunner runner(replicate_model_fn(model, {.devices = cpus(2)}));
  CHECK_FAILS(runner.train(column({1, 2, 3}), Labels()), ErrorKind::kInvalidArgument,
              "tower 1 has one row of the batch, and batch norm wants two: set ReplicateOptions::min_rows_per_tower");
}

TEST_CASE("towers: idle towers go on with the statistics of the others", "[towers][buffers]") {
  TowerRunner three = runner_of(norm_model(), 3);
  const at::Tensor x = column({1, 2, 3, 4, 5, 6});
  three.train(x, Labels());
  CHECK(three.value("norm/mean").item<double>() == Approx(0.35));
  three.train(x.narrow(0, 0, 2), Labels());
  CHECK(three.value("norm/mean").item<double>() == Approx(0.9 * 0.35 + 0.15));
  three.train(x, Labels());
  CHECK(three.value("norm/calls").item<int64_t>() == 3);
  CHECK(three.value("norm/mean").item<double>() == Approx(0.9 * (0.9 * 0.35 + 0.15) + 0.35));
}

TEST_CASE("towers: a step that fails leaves the buffers as they were", "[towers][buffers][failure]") {
  std::atomic<bool> armed{true};
  TowerRunner runner = runner_of(norm_model(0,
                                            [&](ModelContext& ctx) {
                                              if (armed && ctx.tower_index() == 1) throw std::runtime_error("boom");
                                            }),
                                 2);
  CHECK_THROWS_WITH(runner.train(column({1, 2, 3, 4}), Labels()), "boom");
  armed = false;
  runner.train(column({1, 2, 3, 4}), Labels());
  CHECK(runner.value("norm/mean").item<double>() == Approx(0.25));
  CHECK(runner.value("norm/calls").item<int64_t>() == 1);
}

TEST_CASE("towers: prediction uses the committed statistics in every tower, and moves none", "[towers][buffers]") {
  TowerRunner runner = runner_of(norm_model(), 2);
  runner.train(column({1, 2, 3, 4}), Labels());
  const at::Tensor normed = runner.predict(column({1, 1, 1, 1})).predictions["normed"];
  CHECK(at::allclose(normed, normed[0].expand({4, 1})));
  CHECK(runner.value("norm/mean").item<double>() == Approx(0.25));
}

TEST_CASE("towers: counters that differ between towers are an error that names the buffer and the towers",
          "[towers][buffers]") {
  TowerRunner runner = runner_of(norm_model(5), 2);
  CHECK_FAILS(runner.train(column({1, 2, 3, 4}), Labels()), ErrorKind::kFailedPrecondition, "norm/calls");
  CHECK_FAILS(runner.train(column({1, 2, 3, 4}), Labels()), ErrorKind::kFailedPrecondition, "in tower 1");
}

}  // namespace
}  // namespace belfry
