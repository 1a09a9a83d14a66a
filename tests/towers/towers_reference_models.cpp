#include "towers_reference_models.h"

#include <ATen/ATen.h>

#include "estimator/losses/losses.h"
#include "estimator/metrics/auc.h"
#include "estimator/metrics/counts.h"
#include "estimator/metrics/means.h"
#include "towers/tower_optimizer.h"

namespace belfry::testing {

ModelFn model_fn_of(ReferenceForward forward, ReferenceModel model) {
  return [forward, model](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    ReferenceOutputs outputs = forward(model, features, labels, mode, ctx);
    if (mode == ModeKeys::kPredict) return EstimatorSpec::predict(outputs.predictions);
    if (mode == ModeKeys::kEval) return EstimatorSpec::eval(outputs.loss, outputs.metrics);
    TowerOptimizer optimizer(model.optimizer);
    return EstimatorSpec::train(outputs.loss, optimizer.minimize(outputs.loss, ctx));
  };
}

at::Tensor cross_entropies(const at::Tensor& logits, const at::Tensor& labels) {
  return -logits.detach().log_softmax(1).gather(1, labels.reshape({-1, 1})).squeeze(1);
}

at::Tensor sparse_lookup(const at::Tensor& table, const at::Tensor& ids) {
  return at::embedding(table, ids, /*padding_idx=*/-1, /*scale_grad_by_freq=*/false, /*sparse=*/true);
}

ReferenceOutputs softmax(const ReferenceModel& model, const Features& features, const Labels& labels, ModeKeys mode,
                         ModelContext& ctx) {
  const at::Tensor logits = features["x"].matmul(model.variable(ctx, "W")) + model.variable(ctx, "b");
  const at::Tensor probabilities = logits.softmax(1);
  const at::Tensor class_ids = logits.argmax(1);
  ReferenceOutputs outputs{.predictions = {{"probabilities", probabilities}, {"class_ids", class_ids}}};
  if (mode == ModeKeys::kPredict) return outputs;
  const at::Tensor& weight = features["weight"];
  outputs.loss = losses::sparse_softmax_cross_entropy(labels.tensor(), logits, ctx,
                                                      {.weights = weight, .reduction = model.reduction});
  if (mode != ModeKeys::kEval) return outputs;
  const at::Tensor is_class0 = labels.tensor().eq(0);
  outputs.metrics = {
      {"accuracy", metrics::accuracy(labels.tensor(), class_ids)},
      {"accuracy_weighted", metrics::accuracy(labels.tensor(), class_ids, weight)},
      {"average_loss", metrics::mean(cross_entropies(logits, labels.tensor()), weight)},
      {"auc_class0", metrics::auc(is_class0, probabilities.select(1, 0),
                                  {.summation = metrics::AucSummation::kTrapezoidal, .weights = weight})},
  };
  return outputs;
}

ReferenceOutputs linear(const ReferenceModel& model, const Features& features, const Labels& labels, ModeKeys mode,
                        ModelContext& ctx) {
  const at::Tensor prediction = features["x"].matmul(model.variable(ctx, "W")) + model.variable(ctx, "b");
  ReferenceOutputs outputs{.predictions = {{"predictions", prediction}}};
  if (mode == ModeKeys::kPredict) return outputs;
  const at::Tensor& weight = features["weight"];
  const at::Tensor& target = labels.tensor();
  outputs.loss = losses::mean_squared_error(target, prediction, ctx, {.weights = weight, .reduction = model.reduction});
  outputs.metrics = {
      {"average_loss", metrics::mean_squared_error(target, prediction, weight)},
      {"rmse", metrics::root_mean_squared_error(target, prediction, weight)},
      {"mae", metrics::mean_absolute_error(target, prediction, weight)},
      {"prediction/mean", metrics::mean(prediction, weight)},
      {"label/mean", metrics::mean(target, weight)},
  };
  return outputs;
}

ReferenceOutputs embedding(const ReferenceModel& model, const Features& features, const Labels& labels, ModeKeys mode,
                           ModelContext& ctx) {
  const at::Tensor rows = sparse_lookup(model.variable(ctx, "table"), features["ids"]);
  const at::Tensor prediction = rows.matmul(model.variable(ctx, "V"));
  ReferenceOutputs outputs{.predictions = {{"predictions", prediction}}};
  if (mode == ModeKeys::kPredict) return outputs;
  outputs.loss = losses::mean_squared_error(labels.tensor(), prediction, ctx, {.reduction = model.reduction});
  outputs.metrics = {{"average_loss", metrics::mean_squared_error(labels.tensor(), prediction)}};
  return outputs;
}

}  // namespace belfry::testing
