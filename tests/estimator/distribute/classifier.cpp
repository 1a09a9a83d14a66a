#include "classifier.h"

#include <ATen/ATen.h>

#include <torch/nn/modules/linear.h>

#include "estimator/losses/losses.h"
#include "estimator/metrics/auc.h"
#include "estimator/metrics/means.h"
#include "optimizers/clip_gradients.h"
#include "optimizers/momentum.h"
#include "tests/estimator/linear_model.h"
#include "tests/support/reference.h"
#include "tests/testing.h"
#include "towers/tower_optimizer.h"

namespace belfry::testing {

RunConfig under(const std::string& directory, const std::string& strategy) {
  RunConfig config = quiet(directory);
  if (strategy.empty()) return config;
  config.train_distribute = strategy_named(strategy);
  config.eval_distribute = strategy_named(strategy);
  return config;
}

int replicas_of(const std::string& strategy) { return strategy_named(strategy)->num_replicas_in_sync(); }

EstimatorSpec classifier(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto net = ctx.module("net", [] { return in_double(torch::nn::Linear(3, 2)); });
  const at::Tensor logits = net->forward(features["x"]);
  if (mode == ModeKeys::kPredict) return EstimatorSpec::predict({{"logits", logits}});
  const at::Tensor loss =
      losses::sparse_softmax_cross_entropy(labels.tensor(), logits, ctx, {.weights = features["weight"]});
  if (mode == ModeKeys::kEval) {
    return EstimatorSpec::eval(loss, {{"auc", metrics::auc(labels.tensor().ne(0), logits.softmax(1).select(1, 1))},
                                      {"mean", metrics::mean(logits, features["weight"].unsqueeze(1))}});
  }
  const Optimizer optimizer = TowerOptimizer(Momentum({.learning_rate = 0.5, .momentum = 0.9}));
  GradientsAndVariables gradients = optimizer.compute_gradients(loss, ctx);
  return EstimatorSpec::train(loss, optimizer.apply_gradients(clip_by_global_norm(gradients, 0.1), ctx));
}

Features rows(int64_t count) {
  const at::Tensor numbers = at::arange(count * 3, at::kDouble).reshape({count, 3});
  return {{"x", (numbers * 0.7).sin()}, {"weight", (at::arange(count, at::kDouble) % 4) + 0.25}};
}

Labels classes(int64_t count) { return {{"", at::arange(count, at::kLong) % 2}}; }

InputFn batches(int64_t count, int64_t size, int64_t passes) {
  return [=] { return Dataset::from_tensors(rows(count), classes(count)).repeat(passes).batch(size); };
}

void check_same_variables(const Estimator& one, const Estimator& other) {
  const std::vector<std::string> names = one.get_variable_names();
  REQUIRE(names == other.get_variable_names());
  for (const std::string& name : names) {
    if (name.starts_with("belfry/")) continue;
    INFO(name);
    check_close(one.get_variable_value(name), other.get_variable_value(name), 1e-10, 1e-12);
  }
}

}  // namespace belfry::testing
