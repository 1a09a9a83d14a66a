#include "estimator/heads/internal/class_outputs.h"

#include <ATen/ATen.h>

#include "core/error.h"

namespace belfry::internal {
namespace {

at::Tensor all_ids(const ClassScores& scores, at::ScalarType dtype) {
  const at::Tensor& like = scores.probabilities;
  const at::Tensor ids = at::arange(like.size(1), at::TensorOptions(dtype).device(like.device()));
  return ids.unsqueeze(0).repeat({like.size(0), 1});
}

StringTensor all_names(int64_t rows, const LabelVocabulary& vocabulary) {
  std::vector<std::string> values;
  values.reserve(static_cast<size_t>(rows * vocabulary.size()));
  for (int64_t i = 0; i < rows; ++i) {
    values.insert(values.end(), vocabulary.names().begin(), vocabulary.names().end());
  }
  return StringTensor(std::move(values), {rows, vocabulary.size()});
}

}  // namespace

Predictions class_numbers(const ClassScores& scores) {
  Predictions predictions = scores.scores;
  predictions.set("class_ids", scores.class_ids);
  return predictions;
}

Predictions class_predictions(const ClassScores& scores, const LabelVocabulary& vocabulary) {
  Predictions predictions = class_numbers(scores);
  predictions.set("classes", vocabulary.names_of(scores.class_ids));
  predictions.set("all_class_ids", all_ids(scores, at::kInt));
  predictions.set("all_classes", all_names(scores.class_ids.size(0), vocabulary));
  return predictions;
}

ExportOutput predict_output(const ClassScores& scores, const LabelVocabulary& vocabulary) {
  PredictOutput output{scores.scores, {{"classes", vocabulary.names()}, {"all_classes", vocabulary.names()}}};
  output.outputs.set("class_ids", scores.class_ids);
  output.outputs.set("classes", scores.class_ids);
  output.outputs.set("all_class_ids", all_ids(scores, at::kInt));
  output.outputs.set("all_classes", all_ids(scores, at::kLong));
  return output;
}

ExportOutput classification_output(const ClassScores& scores, const LabelVocabulary& vocabulary) {
  return ClassificationOutput{scores.probabilities, all_ids(scores, at::kLong), vocabulary.names()};
}

at::Tensor row_weights(const WeightColumn& column, const Features& features, const at::Tensor& logits) {
  if (column.empty()) return {};
  const at::Tensor weights = column.weights(features);
  require(weights.dim() == 2 && weights.size(1) == 1 && weights.size(0) == logits.size(0), "head: weights have shape ",
          weights.sizes(), "; one for each of the ", logits.size(0), " rows is wanted");
  return weights.to(logits.device());
}

at::Tensor checked_row_losses(const at::Tensor& losses, const at::Tensor& logits) {
  require(losses.defined(), "head: loss_fn gave an undefined tensor");
  const bool fits = losses.dim() >= 1 && losses.size(0) == logits.size(0) && losses.numel() == losses.size(0);
  require(fits, "head: loss_fn gave shape ", losses.sizes(), "; [", logits.size(0), ", 1] is wanted, one loss a row");
  return losses.reshape({-1, 1});
}

}  // namespace belfry::internal
