#include "estimator/heads/multi_class_head.h"

#include <ATen/ATen.h>

#include "core/error.h"
#include "estimator/heads/internal/class_outputs.h"
#include "estimator/heads/internal/label_vocabulary.h"
#include "estimator/heads/internal/labels.h"
#include "estimator/losses/internal/loss_formulas.h"
#include "estimator/losses/losses.h"
#include "estimator/losses/weighted_loss.h"
#include "estimator/metrics/counts.h"
#include "estimator/metrics/means.h"

namespace belfry {
namespace {

internal::ClassScores scores_of(const at::Tensor& logits) {
  const at::Tensor probabilities = logits.softmax(1);
  return {{{"logits", logits}, {"probabilities", probabilities}}, probabilities, logits.argmax(1, /*keepdim=*/true)};
}

int64_t checked_classes(int64_t n_classes) {
  require(n_classes > 2, "MultiClassHead: n_classes is ", n_classes,
          "; 3 or more are wanted (BinaryClassHead is for 2)");
  return n_classes;
}

}  // namespace

MultiClassHead::MultiClassHead(int64_t n_classes, MultiClassHeadOptions options)
    : n_classes_(checked_classes(n_classes)),
      options_(std::move(options)),
      vocabulary_(std::make_shared<internal::LabelVocabulary>(n_classes_, options_.label_vocabulary)) {
  require(is_valid(options_.loss_reduction) && options_.loss_reduction != LossReduction::kNone,
          "MultiClassHead: loss_reduction is ", to_string(options_.loss_reduction), "; the loss has to be one number");
}

at::Tensor MultiClassHead::label_column(const Labels& labels, const at::Tensor& logits) const {
  const at::Tensor column = internal::label_column(labels, logits, *vocabulary_);
  require(at::isIntegralType(column.scalar_type(), /*includeBool=*/false), "MultiClassHead: labels are ",
          column.scalar_type(), "; integers from 0 to ", n_classes_ - 1, " are wanted");
  // The head's own loss checks the range itself.
  if (options_.loss_fn) internal::check_label_range(column, n_classes_ - 1);
  return column.to(at::kLong);
}

at::Tensor MultiClassHead::row_losses(const at::Tensor& labels, const at::Tensor& logits,
                                      const Features& features) const {
  if (options_.loss_fn) return internal::checked_row_losses(options_.loss_fn(labels, logits, features), logits);
  return internal::sparse_softmax_cross_entropy(labels, logits).unsqueeze(1);
}

at::Tensor MultiClassHead::loss(const Features& features, const Labels& labels, const at::Tensor& logits,
                                ModelContext& ctx, std::source_location where) const {
  const LossOptions options{.weights = internal::row_weights(options_.weight_column, features, logits),
                            .reduction = options_.loss_reduction};
  if (!options_.loss_fn) {
    return losses::sparse_softmax_cross_entropy(label_column(labels, logits), logits, ctx, options, where);
  }
  return losses::compute_weighted_loss(row_losses(label_column(labels, logits), logits, features), ctx, options, where);
}

Predictions MultiClassHead::predictions(const at::Tensor& logits) const {
  return internal::class_predictions(scores_of(logits), *vocabulary_);
}

Predictions MultiClassHead::eval_predictions(const at::Tensor& logits) const {
  return internal::class_numbers(scores_of(logits));
}

EvalMetricOps MultiClassHead::metrics(const Features& features, const Labels& labels, const at::Tensor& logits) const {
  const at::Tensor y = label_column(labels, logits);
  const at::Tensor weights = internal::row_weights(options_.weight_column, features, logits);
  return {{metric_key("accuracy"), belfry::metrics::accuracy(y, logits.argmax(1, /*keepdim=*/true), weights)},
          {metric_key("average_loss"), belfry::metrics::mean(row_losses(y, logits, features), weights)}};
}

ExportOutputs MultiClassHead::export_outputs(const at::Tensor& logits) const {
  const internal::ClassScores scores = scores_of(logits);
  const ExportOutput classification = internal::classification_output(scores, *vocabulary_);
  return {{kServingDefault, classification},
          {"classification", classification},
          {"predict", internal::predict_output(scores, *vocabulary_)}};
}

}  // namespace belfry
