// batch_norm = kSync.
#include <torch/nn/functional/instancenorm.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include "distribute/sync_batch_norm.h"
#include "estimator/losses/losses.h"
#include "optimizers/momentum.h"
#include "tests/testing.h"
#include "tests/towers/abs_model.h"

namespace belfry {
namespace {

using testing::cpus;
using testing::TowerRunner;

struct NetImpl : torch::nn::Module {
  NetImpl() {
    register_module("conv", conv);
    register_module("bn2", bn2);
    register_module("dense", dense);
    register_module("bn1", bn1);
    to(torch::kDouble);
  }
  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor image = torch::relu(bn2(conv(x)));
    return bn1(dense(image.flatten(1)));
  }
  torch::nn::Conv2d conv{torch::nn::Conv2dOptions(1, 3, 3)};
  torch::nn::BatchNorm2d bn2{3};
  torch::nn::Linear dense{3 * 4, 2};
  torch::nn::BatchNorm1d bn1{torch::nn::BatchNormOptions(2).affine(false).momentum(0.3)};
};
TORCH_MODULE(Net);

EstimatorSpec model_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  const at::Tensor y = ctx.module<Net>("net")(features["x"]);
  const at::Tensor loss = losses::mean_squared_error(labels.tensor(), y, ctx);
  if (mode == ModeKeys::kEval) return EstimatorSpec::eval(loss);
  const TowerOptimizer optimizer(Momentum({.learning_rate = 0.05, .momentum = 0.9}));
  return EstimatorSpec::train(loss, optimizer.minimize(loss, ctx));
}

TowerRunner runner_of(ModelFn model, int count, TowerBatchNorm batch_norm) {
  return TowerRunner(replicate_model_fn(std::move(model), {.devices = cpus(count), .batch_norm = batch_norm}));
}

Features images(int64_t rows, int64_t step) {
  return {{"x", at::sin(at::arange(rows * 16, at::kDouble) * static_cast<double>(step + 1)).view({rows, 1, 4, 4})}};
}
Labels targets(int64_t rows) { return Labels(at::cos(at::arange(rows * 2, at::kDouble)).view({rows, 2})); }

TEST_CASE("batch_norm = kSync: towers of any size come to what one device comes to", "[towers][batch_norm]") {
  TowerRunner one = runner_of(model_fn, 1, TowerBatchNorm::kPerTower);
  std::vector<double> expected;
  const std::vector<int64_t> sizes{12, 7, 9, 12, 6, 11};
  for (size_t step = 0; step < sizes.size(); ++step) {
    expected.push_back(one.train(images(sizes[step], static_cast<int64_t>(step)), targets(sizes[step])));
  }
  for (const int count : {2, 3}) {
    TowerRunner several = runner_of(model_fn, count, TowerBatchNorm::kSync);
    for (size_t step = 0; step < sizes.size(); ++step) {
      CAPTURE(count, step);
      CHECK(several.train(images(sizes[step], static_cast<int64_t>(step)), targets(sizes[step])) ==
            Approx(expected[step]).epsilon(1e-10));
    }
    for (const Variable* variable : one.store().variables()) {
      INFO(variable->name());
      CHECK(at::allclose(several.value(variable->name()), variable->value(), 1e-9, 1e-11));
    }
    // Evaluation goes by the running statistics, and needs no meeting.
    CHECK(several.eval(images(5, 9), targets(5)).loss.item<double>() ==
          Approx(one.eval(images(5, 9), targets(5)).loss.item<double>()).epsilon(1e-9));
  }
}

TEST_CASE("batch_norm = kPerTower: each tower's rows are normalized by themselves", "[towers][batch_norm]") {
  TowerRunner one = runner_of(model_fn, 1, TowerBatchNorm::kPerTower);
  TowerRunner two = runner_of(model_fn, 2, TowerBatchNorm::kPerTower);
  CHECK(std::abs(one.train(images(12, 0), targets(12)) - two.train(images(12, 0), targets(12))) > 1e-3);
}

TEST_CASE("batch_norm = kSync: float32 is as near as rounding allows", "[towers][batch_norm]") {
  const auto model = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    auto norm = ctx.module("bn", [] { return torch::nn::BatchNorm1d(16); });
    const at::Tensor loss = losses::mean_squared_error(
        labels.tensor(), norm->forward(features["x"].view({-1, 16}).to(at::kFloat)).sum(1), ctx);
    return EstimatorSpec::train(loss, TowerOptimizer(GradientDescent({.learning_rate = 0.1})).minimize(loss, ctx));
  };
  TowerRunner one = runner_of(model, 1, TowerBatchNorm::kSync);
  TowerRunner three = runner_of(model, 3, TowerBatchNorm::kSync);
  const Labels labels(at::ones({8}));
  for (int step = 0; step < 5; ++step) {
    CHECK(three.train(images(8, step), labels) == Approx(one.train(images(8, step), labels)).epsilon(1e-5));
  }
  for (const char* name : {"bn/weight", "bn/bias", "bn/running_mean", "bn/running_var"}) {
    INFO(name);
    CHECK(at::allclose(three.value(name), one.value(name), 1e-5, 1e-6));
  }
  CHECK(three.value("bn/num_batches_tracked").item<int64_t>() == 5);
}

TEST_CASE("batch_norm = kSync: instance norm stays one example's own", "[towers][batch_norm]") {
  const auto model = [](const Features& features, const Labels&, ModeKeys, ModelContext& ctx) {
    const at::Tensor c = testing::scalar_variable(ctx, "c", 2);
    const at::Tensor y = torch::nn::functional::instance_norm(features["x"].view({-1, 4, 4}) * c);
    const at::Tensor loss = losses::mean(y.pow(3), ctx);
    return EstimatorSpec::train(loss, TowerOptimizer(GradientDescent({.learning_rate = 0.1})).minimize(loss, ctx));
  };
  TowerRunner one = runner_of(model, 1, TowerBatchNorm::kSync);
  TowerRunner two = runner_of(model, 2, TowerBatchNorm::kSync);
  CHECK(two.train(images(6, 1), {}) == Approx(one.train(images(6, 1), {})).epsilon(1e-10));
}

TEST_CASE("batch_norm = kSync: a tower that leaves one out is an error that names both", "[towers][batch_norm]") {
  const auto model = [](const Features& features, const Labels&, ModeKeys, ModelContext& ctx) {
    auto norm = ctx.module("bn", [] {
      torch::nn::BatchNorm2d made(1);
      made->to(torch::kDouble);
      return made;
    });
    at::Tensor x = features["x"];
    if (ctx.tower_index() == 0) x = norm->forward(x);
    const at::Tensor loss = losses::mean(x * testing::scalar_variable(ctx, "c", 1), ctx);
    return EstimatorSpec::train(loss, TowerOptimizer(GradientDescent({.learning_rate = 0.1})).minimize(loss, ctx));
  };
  TowerRunner two = runner_of(model, 2, TowerBatchNorm::kSync);
  CHECK_FAILS(two.train(images(6, 1), {}), ErrorKind::kFailedPrecondition, "batch norm of 1 channels");
}

TEST_CASE("batch_norm = kSync: a tower of which a mask leaves no row counts as none", "[towers][batch_norm]") {
  const auto model = [](const Features& features, const Labels&, ModeKeys, ModelContext& ctx) {
    auto norm = ctx.module<torch::nn::BatchNorm1d>("bn", 16);
    const at::Tensor c = testing::scalar_variable(ctx, "c", 2);
    const at::Tensor x = features["x"].view({-1, 16});
    const at::Tensor kept = (x * c).index({at::arange(x.size(0)) < features["kept"]}).to(at::kFloat);
    const at::Tensor loss = losses::mean((norm(kept) - 1).pow(3), ctx);
    return EstimatorSpec::train(loss, TowerOptimizer(GradientDescent({.learning_rate = 0.1})).minimize(loss, ctx));
  };
  const auto all_in_first = [](int64_t rows) { return at::arange(rows).lt(4).to(at::kLong) * rows; };
  TowerRunner one = runner_of(model, 1, TowerBatchNorm::kSync);
  TowerRunner three = runner_of(model, 3, TowerBatchNorm::kSync);
  for (int step = 0; step < 3; ++step) {
    Features features = images(12, step);
    features.set("kept", all_in_first(12));
    CHECK(three.train(features, {}) == Approx(one.train(features, {})).epsilon(1e-5));
  }
  for (const char* name : {"bn/weight", "bn/bias", "bn/running_mean", "bn/running_var", "c"}) {
    INFO(name);
    CHECK(at::allclose(three.value(name), one.value(name), 1e-4, 1e-5));
  }
}

}  // namespace
}  // namespace belfry
