// The model that most tests of tf.contrib's replicate_model_fn use: one variable c = 10, predictions features * c, loss
// sum |labels - predictions|.
#pragma once

#include <ATen/ATen.h>

#include "estimator/metrics/auc.h"
#include "estimator/metrics/counts.h"
#include "optimizers/gradient_descent.h"
#include "tests/towers/tower_runner.h"

namespace belfry::testing {

inline at::Tensor doubles(std::initializer_list<double> values) { return at::tensor(values, at::kDouble); }
inline at::Tensor column(std::initializer_list<double> values) { return doubles(values).unsqueeze(1); }

inline at::Tensor scalar_variable(ModelContext& ctx, const std::string& name, double initial) {
  return ctx.variable(name, [=] { return at::full({}, initial, at::kDouble); });
}

inline at::Tensor abs_loss(const Features& features, const Labels& labels, const at::Tensor& c) {
  return (labels.tensor() - features.only().tensor() * c).abs().sum();
}

inline EstimatorSpec abs_spec(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx,
                              const Optimizer& optimizer) {
  const at::Tensor c = scalar_variable(ctx, "c", 10);
  const at::Tensor predicted = features.only().tensor() * c;
  const Predictions predictions{{"probabilities", predicted}};
  if (mode == ModeKeys::kPredict) return EstimatorSpec::predict(predictions);
  const at::Tensor loss = abs_loss(features, labels, c);
  if (mode == ModeKeys::kEval) {
    return EstimatorSpec::eval(loss, {{"accuracy", metrics::accuracy(labels.tensor(), predicted)},
                                      {"auc", metrics::auc(labels.tensor().ne(0), predicted.clamp(0, 1))}});
  }
  return EstimatorSpec::train(loss, optimizer.minimize(loss, ctx));
}

inline EstimatorSpec abs_model(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  return abs_spec(features, labels, mode, ctx, TowerOptimizer(GradientDescent({.learning_rate = 1.0})));
}

// The model_fn over so many logical devices.
inline ModelFn towers(ModelFn model_fn, int count, LossReduction reduction = LossReduction::kSumByNonzeroWeights,
                      TowerWeighting weighting = TowerWeighting::kExact) {
  return replicate_model_fn(std::move(model_fn),
                            {.loss_reduction = reduction, .devices = cpus(count), .weighting = weighting});
}

inline constexpr TowerWeighting kWeightings[] = {TowerWeighting::kExact, TowerWeighting::kTensorFlow};

}  // namespace belfry::testing
