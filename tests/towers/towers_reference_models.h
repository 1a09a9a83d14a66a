// The models of reference/towers.json.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "estimator/losses/loss_reduction.h"
#include "estimator/model_fn.h"
#include "optimizers/optimizer.h"

namespace belfry::testing {

// The variables' initial values and what else the model_fns take from the file.
struct ReferenceModel {
  std::map<std::string, at::Tensor> initial;
  LossReduction reduction;
  std::vector<int64_t> vocabulary;
  size_t hidden_layers;
  Optimizer optimizer;

  at::Tensor variable(ModelContext& ctx, const std::string& name) const {
    return ctx.variable(name, [&] { return initial.at(name).clone(); });
  }
};

// What the forward pass gives, and what is made of it in each mode.
struct ReferenceOutputs {
  Predictions predictions;
  at::Tensor loss = {};
  EvalMetricOps metrics = {};
};

using ReferenceForward = ReferenceOutputs (*)(const ReferenceModel&, const Features&, const Labels&, ModeKeys,
                                              ModelContext&);

// By the names of the file.
ReferenceOutputs softmax(const ReferenceModel& model, const Features& features, const Labels& labels, ModeKeys mode,
                         ModelContext& ctx);
ReferenceOutputs linear(const ReferenceModel& model, const Features& features, const Labels& labels, ModeKeys mode,
                        ModelContext& ctx);
ReferenceOutputs embedding(const ReferenceModel& model, const Features& features, const Labels& labels, ModeKeys mode,
                           ModelContext& ctx);
ReferenceOutputs dnn(const ReferenceModel& model, const Features& features, const Labels& labels, ModeKeys mode,
                     ModelContext& ctx);
ReferenceOutputs dnn_binary(const ReferenceModel& model, const Features& features, const Labels& labels, ModeKeys mode,
                            ModelContext& ctx);
ReferenceOutputs integration(const ReferenceModel& model, const Features& features, const Labels& labels, ModeKeys mode,
                             ModelContext& ctx);

// The forward pass with the ends of each mode, over a TowerOptimizer.
ModelFn model_fn_of(ReferenceForward forward, ReferenceModel model);

// What models have in common: the loss of each row, and rows of a table, whose gradients are sparse.
at::Tensor cross_entropies(const at::Tensor& logits, const at::Tensor& labels);
at::Tensor sparse_lookup(const at::Tensor& table, const at::Tensor& ids);

}  // namespace belfry::testing
