
#include <ATen/ATen.h>

#include <algorithm>

#include "estimator/losses/losses.h"
#include "estimator/metrics/auc.h"
#include "estimator/metrics/counts.h"
#include "estimator/metrics/means.h"
#include "towers_reference_models.h"

namespace belfry::testing {
namespace {

at::Tensor dense(const ReferenceModel& model, ModelContext& ctx, const std::string& layer, const at::Tensor& input) {
  return input.matmul(model.variable(ctx, layer + "/kernel")) + model.variable(ctx, layer + "/bias");
}

at::Tensor network(const ReferenceModel& model, ModelContext& ctx, at::Tensor x) {
  for (size_t i = 0; i < model.hidden_layers; ++i) {
    x = dense(model, ctx, "dnn/hiddenlayer_" + std::to_string(i), x).relu();
  }
  return dense(model, ctx, "dnn/logits", x);
}

at::Tensor weight_of(const Features& features) {
  return features.contains("weight") ? features["weight"] : at::Tensor();
}

// The head over several classes.
ReferenceOutputs classify(const ReferenceModel& model, const at::Tensor& logits, const Features& features,
                          const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  const at::Tensor class_ids = logits.argmax(1, /*keepdim=*/true);
  ReferenceOutputs outputs{
      .predictions = {{"logits", logits}, {"probabilities", logits.softmax(1)}, {"class_ids", class_ids}}};
  if (mode == ModeKeys::kPredict) return outputs;
  const at::Tensor weight = weight_of(features);
  const at::Tensor row_weight = weight.defined() ? weight.squeeze(1) : weight;
  outputs.loss = losses::sparse_softmax_cross_entropy(labels.tensor(), logits, ctx,
                                                      {.weights = weight, .reduction = model.reduction});
  outputs.metrics = {
      {"average_loss", metrics::mean(cross_entropies(logits, labels.tensor()), row_weight)},
      {"accuracy", metrics::accuracy(labels.tensor(), class_ids, weight)},
  };
  return outputs;
}

// Rows of the table for categories in the vocabulary, zeros for others.
at::Tensor embedded(const at::Tensor& table, const at::Tensor& categories, const std::vector<int64_t>& vocabulary) {
  std::vector<int64_t> known;
  std::vector<int64_t> ids;
  for (int64_t row = 0; row < categories.size(0); ++row) {
    const auto found = std::find(vocabulary.begin(), vocabulary.end(), categories[row].item<int64_t>());
    if (found == vocabulary.end()) continue;
    known.push_back(row);
    ids.push_back(found - vocabulary.begin());
  }
  const at::Tensor zeros = at::zeros({categories.size(0), table.size(1)}, table.options());
  return zeros.index_copy(0, at::tensor(known, at::kLong), sparse_lookup(table, at::tensor(ids, at::kLong)));
}

}  // namespace

ReferenceOutputs dnn(const ReferenceModel& model, const Features& features, const Labels& labels, ModeKeys mode,
                     ModelContext& ctx) {
  return classify(model, network(model, ctx, features["x"]), features, labels, mode, ctx);
}

ReferenceOutputs dnn_binary(const ReferenceModel& model, const Features& features, const Labels& labels, ModeKeys mode,
                            ModelContext& ctx) {
  const at::Tensor logits = network(model, ctx, features["x"]);
  const at::Tensor logistic = logits.sigmoid();
  const at::Tensor class_ids = logits.gt(0).to(at::kLong);
  ReferenceOutputs outputs{.predictions = {{"logistic", logistic},
                                           {"probabilities", at::cat({1 - logistic, logistic}, 1)},
                                           {"class_ids", class_ids}}};
  if (mode == ModeKeys::kPredict) return outputs;
  const at::Tensor weight = weight_of(features);
  const at::Tensor target = labels.tensor().to(at::kFloat);
  outputs.loss =
      losses::sigmoid_cross_entropy(target, logits, ctx, {{.weights = weight, .reduction = model.reduction}});
  const at::Tensor row_losses =
      at::binary_cross_entropy_with_logits(logits.detach(), target, {}, {}, at::Reduction::None);
  const auto area = [&](metrics::AucCurve curve) {
    return metrics::auc(target, logistic,
                        {.curve = curve, .summation = metrics::AucSummation::kTrapezoidal, .weights = weight});
  };
  outputs.metrics = {
      {"average_loss", metrics::mean(row_losses, weight)},
      {"accuracy", metrics::accuracy(labels.tensor(), class_ids, weight)},
      {"precision", metrics::precision(labels.tensor(), class_ids, weight)},
      {"recall", metrics::recall(labels.tensor(), class_ids, weight)},
      {"prediction/mean", metrics::mean(logistic, weight)},
      {"label/mean", metrics::mean(target, weight)},
      {"accuracy_baseline", metrics::accuracy_baseline(target, weight)},
      {"auc", area(metrics::AucCurve::kRoc)},
      {"auc_precision_recall", area(metrics::AucCurve::kPr)},
  };
  return outputs;
}

ReferenceOutputs integration(const ReferenceModel& model, const Features& features, const Labels& labels, ModeKeys mode,
                             ModelContext& ctx) {
  const at::Tensor table =
      model.variable(ctx, "dnn/input_from_feature_columns/input_layer/categories_embedding/embedding_weights");
  const at::Tensor columns = embedded(table, features["categories"].reshape({-1}), model.vocabulary);
  const at::Tensor logits = network(model, ctx, at::cat({columns, features["x"]}, 1));
  return classify(model, logits, features, labels, mode, ctx);
}

}  // namespace belfry::testing
