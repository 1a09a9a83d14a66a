// RunConfig::verify_towers_every and all that a step leaves behind: the lone run beside the towers must leave nothing.
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>

#include <stdexcept>

#include "checkpoint/checkpoint_manager.h"
#include "checkpoint/checkpoint_reader.h"
#include "estimator/estimator.h"
#include "estimator/losses/losses.h"
#include "optimizers/adagrad.h"
#include "optimizers/adam.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"
#include "tests/towers/abs_model.h"

namespace belfry {
namespace {

using testing::cpus;
using testing::TemporaryDirectory;

// A table with row-sparse gradients, a buffer that each forward pass writes, and batch norm where it is asked for.
struct NetImpl : torch::nn::Module {
  explicit NetImpl(bool batch_norm) {
    register_module("table", table);
    register_module("dense", dense);
    if (batch_norm) register_module("bn", bn);
    calls = register_buffer("calls", at::zeros({}, at::kLong));
    to(torch::kDouble);
  }
  at::Tensor forward(const at::Tensor& ids, const at::Tensor& x) {
    calls.add_(1);
    at::Tensor y = dense(at::cat({table(ids), x}, 1));
    if (children().size() > 2) y = bn(y);
    return y;
  }
  torch::nn::Embedding table{torch::nn::EmbeddingOptions(6, 3).sparse(true)};
  torch::nn::Linear dense{5, 2};
  torch::nn::BatchNorm1d bn{2};
  at::Tensor calls;
};
TORCH_MODULE(Net);

struct Setup {
  bool net_norm = false;
  TowerBatchNorm batch_norm = TowerBatchNorm::kPerTower;
  int towers = 3;
};

// Counts by an assignment and moves its variables by two optimizers.
EstimatorSpec model_fn(const Features& features, const Labels& labels, ModelContext& ctx, bool net_norm) {
  const at::Tensor y = ctx.module<Net>("net", net_norm)(features["ids"], features["x"]);
  ctx.variable(
      "seen", [] { return at::zeros({}, at::kLong); }, /*trainable=*/false);
  ctx.assign_add("seen", at::full({}, y.size(0), at::kLong));
  const at::Tensor loss = losses::mean_squared_error(labels.tensor(), y, ctx);
  const TowerOptimizer adagrad(Adagrad({.learning_rate = 0.1}));
  const TowerOptimizer adam(Adam({.learning_rate = 0.01}));
  return EstimatorSpec::train(loss, group({adagrad.minimize(loss, ctx, {.var_list = {"net/table/weight"}}),
                                           adam.minimize(loss, ctx, {.var_list = {"net/dense/weight"}})}));
}

InputFn eleven_rows() {
  return [] {
    const Features features{{"ids", at::arange(11, at::kLong).remainder(4)},
                            {"x", at::sin(at::arange(22, at::kDouble)).view({11, 2})}};
    return Dataset::from_tensors(features, at::cos(at::arange(22, at::kDouble)).view({11, 2})).batch(11).repeat();
  };
}

TrainResult train(const Setup& setup, const std::string& model_dir, int64_t every, int64_t steps = 4) {
  const auto model = [net_norm = setup.net_norm](const Features& features, const Labels& labels, ModeKeys,
                                                 ModelContext& ctx) {
    return model_fn(features, labels, ctx, net_norm);
  };
  Estimator estimator(replicate_model_fn(model, {.devices = cpus(setup.towers), .batch_norm = setup.batch_norm}),
                      {.model_dir = model_dir,
                       .random_seed = 3,
                       .verify_towers_every = every,
                       .save_summary_steps = 0,
                       .log_step_count_steps = 0});
  return estimator.train(eleven_rows(), {.steps = steps});
}

CheckpointReader newest(const TemporaryDirectory& directory) {
  return CheckpointReader(CheckpointManager(directory.path()).latest().prefix.value());
}

void check_same_state(const Setup& setup) {
  const TemporaryDirectory plain;
  const TemporaryDirectory verified;
  train(setup, plain.path(), 0);
  CHECK(train(setup, verified.path(), 1).global_step == 4);
  const CheckpointReader expected = newest(plain);
  const CheckpointReader got = newest(verified);
  REQUIRE(got.variables().size() == expected.variables().size());
  for (const CheckpointVariable& variable : expected.variables()) {
    INFO(variable.name);
    if (!variable.is_strings) CHECK(at::equal(got.tensor(variable.name), expected.tensor(variable.name)));
  }
  CHECK(got.tensor("seen").item<int64_t>() == 4 * 11);
  CHECK(got.tensor("net/calls").item<int64_t>() == 4);
  CHECK(got.tensor("belfry/training/Adam/iterations").item<int64_t>() == 4);
  CHECK(got.contains("training/Adagrad/net/table/weight/accumulator"));
}

TEST_CASE("verify_towers_every: buffers, assignments and slots of several optimizers are those of a run without it",
          "[towers][verify]") {
  check_same_state({.towers = GENERATE(2, 3)});
}

TEST_CASE("verify_towers_every: batch norm over all rows is one device's, and its statistics move once a step",
          "[towers][verify][batch_norm]") {
  check_same_state({.net_norm = true, .batch_norm = TowerBatchNorm::kSync, .towers = GENERATE(2, 3)});
}

TEST_CASE("verify_towers_every: batch norm per tower is found out, and nothing of the step is kept",
          "[towers][verify][batch_norm]") {
  const Setup setup{.net_norm = true, .batch_norm = TowerBatchNorm::kPerTower};
  const TemporaryDirectory directory;
  CHECK_FAILS(train(setup, directory.path(), 1), ErrorKind::kFailedPrecondition, "the loss of losses:: at");
  const TemporaryDirectory other;
  CHECK_FAILS(train(setup, other.path(), 1), ErrorKind::kFailedPrecondition, "batch_norm = kSync");
  CHECK(train(setup, directory.path(), 0, 2).global_step == 2);
  CHECK(newest(directory).tensor("net/calls").item<int64_t>() == 2);
}

TEST_CASE("verify_towers_every: what the model_fn throws in the lone run reaches the caller, with nothing kept",
          "[towers][verify]") {
  bool broken = true;
  const auto model = [&broken](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    EstimatorSpec spec = model_fn(features, labels, ctx, /*net_norm=*/false);
    if (broken && ctx.tower_count() == 1) throw std::out_of_range("only one tower");
    return spec;
  };
  const TemporaryDirectory directory;
  Estimator estimator(replicate_model_fn(model, {.devices = cpus(3)}), {.model_dir = directory.path(),
                                                                        .random_seed = 3,
                                                                        .verify_towers_every = 1,
                                                                        .save_summary_steps = 0,
                                                                        .log_step_count_steps = 0});
  CHECK_THROWS_AS(estimator.train(eleven_rows(), {.steps = 4}), std::out_of_range);
  broken = false;
  CHECK(estimator.train(eleven_rows(), {.steps = 4}).global_step == 4);
  const TemporaryDirectory plain;
  train({}, plain.path(), 0);
  for (const char* name : {"seen", "net/calls", "net/table/weight", "net/dense/weight"}) {
    INFO(name);
    CHECK(at::equal(newest(directory).tensor(name), newest(plain).tensor(name)));
  }
}

}  // namespace
}  // namespace belfry
