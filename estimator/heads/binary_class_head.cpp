#include "estimator/heads/binary_class_head.h"

#include <ATen/ATen.h>

#include <cstdio>

#include "core/error.h"
#include "estimator/heads/internal/class_outputs.h"
#include "estimator/heads/internal/label_vocabulary.h"
#include "estimator/heads/internal/labels.h"
#include "estimator/losses/internal/loss_formulas.h"
#include "estimator/losses/weighted_loss.h"
#include "estimator/metrics/auc.h"
#include "estimator/metrics/counts.h"
#include "estimator/metrics/means.h"

namespace belfry {
namespace {

// As TensorFlow writes it: "accuracy/positive_threshold_0.3".
std::string threshold_key(const char* metric, double threshold) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", threshold);
  return std::string(metric) + "/positive_threshold_" + text;
}

internal::ClassScores scores_of(const at::Tensor& logits) {
  const at::Tensor probabilities = at::cat({at::zeros_like(logits), logits}, 1).softmax(1);
  return {{{"logits", logits}, {"logistic", logits.sigmoid()}, {"probabilities", probabilities}},
          probabilities,
          logits.gt(0).to(at::kLong)};
}

}  // namespace

BinaryClassHead::BinaryClassHead(BinaryClassHeadOptions options)
    : options_(std::move(options)),
      vocabulary_(std::make_shared<internal::LabelVocabulary>(2, options_.label_vocabulary)) {
  require(is_valid(options_.loss_reduction) && options_.loss_reduction != LossReduction::kNone,
          "BinaryClassHead: loss_reduction is ", to_string(options_.loss_reduction), "; the loss has to be one number");
  for (const double threshold : options_.thresholds) {
    require(threshold > 0 && threshold < 1, "BinaryClassHead: threshold ", threshold, " is not between 0 and 1");
  }
}

at::Tensor BinaryClassHead::label_column(const Labels& labels, const at::Tensor& logits) const {
  const at::Tensor column = internal::label_column(labels, logits, *vocabulary_);
  require(!column.is_complex(), "BinaryClassHead: labels are ", column.scalar_type(), "; real numbers are wanted");
  if (!column.is_cpu()) return internal::nan_outside(column.to(logits.scalar_type()), 1);
  internal::check_label_range(column, 1);
  return column.to(logits.scalar_type());
}

at::Tensor BinaryClassHead::row_losses(const at::Tensor& labels, const at::Tensor& logits,
                                       const Features& features) const {
  if (options_.loss_fn) return internal::checked_row_losses(options_.loss_fn(labels, logits, features), logits);
  return internal::sigmoid_cross_entropy(labels, logits);
}

at::Tensor BinaryClassHead::loss(const Features& features, const Labels& labels, const at::Tensor& logits,
                                 ModelContext& ctx, std::source_location where) const {
  const LossOptions options{.weights = internal::row_weights(options_.weight_column, features, logits),
                            .reduction = options_.loss_reduction};
  return losses::compute_weighted_loss(row_losses(label_column(labels, logits), logits, features), ctx, options, where);
}

Predictions BinaryClassHead::predictions(const at::Tensor& logits) const {
  return internal::class_predictions(scores_of(logits), *vocabulary_);
}

Predictions BinaryClassHead::eval_predictions(const at::Tensor& logits) const {
  return internal::class_numbers(scores_of(logits));
}

EvalMetricOps BinaryClassHead::metrics(const Features& features, const Labels& labels, const at::Tensor& logits) const {
  namespace m = belfry::metrics;
  const at::Tensor y = label_column(labels, logits);
  const at::Tensor weights = internal::row_weights(options_.weight_column, features, logits);
  const at::Tensor logistic = logits.sigmoid();
  const at::Tensor class_ids = logits.gt(0).to(y.scalar_type());
  EvalMetricOps ops;
  const auto add = [&](const std::string& key, Metric metric) { ops.emplace_back(metric_key(key), std::move(metric)); };
  add("average_loss", m::mean(row_losses(y, logits, features), weights));
  add("accuracy", m::accuracy(y, class_ids, weights));
  add("precision", m::precision(y, class_ids, weights));
  add("recall", m::recall(y, class_ids, weights));
  add("prediction/mean", m::mean(logistic, weights));
  add("label/mean", m::mean(y, weights));
  add("accuracy_baseline", m::accuracy_baseline(y, weights));
  add("auc", m::auc(y, logistic, {.weights = weights}));
  add("auc_precision_recall", m::auc(y, logistic, {.curve = m::AucCurve::kPr, .weights = weights}));
  for (const double threshold : options_.thresholds) {
    const at::Tensor above = logistic.gt(threshold).to(y.scalar_type());
    add(threshold_key("accuracy", threshold), m::binary_accuracy(y, logistic, threshold, weights));
    add(threshold_key("precision", threshold), m::precision(y, above, weights));
    add(threshold_key("recall", threshold), m::recall(y, above, weights));
  }
  return ops;
}

ExportOutputs BinaryClassHead::export_outputs(const at::Tensor& logits) const {
  const internal::ClassScores scores = scores_of(logits);
  const ExportOutput classification = internal::classification_output(scores, *vocabulary_);
  return {{kServingDefault, classification},
          {"classification", classification},
          {"regression", RegressionOutput{scores.scores["logistic"]}},
          {"predict", internal::predict_output(scores, *vocabulary_)}};
}

}  // namespace belfry
