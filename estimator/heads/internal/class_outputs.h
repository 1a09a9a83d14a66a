// What heads that tell classes apart predict and export alike.
#pragma once

#include <ATen/core/Tensor.h>

#include "core/tensor_dict.h"
#include "estimator/heads/internal/label_vocabulary.h"
#include "estimator/heads/weight_column.h"
#include "export/export_output.h"

namespace belfry::internal {

// Scores of a batch of logits.
struct ClassScores {
  TensorDict scores;         // logits, probabilities and the like, in the order of the predictions
  at::Tensor probabilities;  // [batch, classes]
  at::Tensor class_ids;      // int64 [batch, 1]
};

// `scores`, class_ids: what class_predictions has of numbers that differ from row to row.
Predictions class_numbers(const ClassScores& scores);
// `scores`, class_ids, classes, all_class_ids, all_classes.
Predictions class_predictions(const ClassScores& scores, const LabelVocabulary& vocabulary);
// The same with ids and vocabularies in place of strings.
ExportOutput predict_output(const ClassScores& scores, const LabelVocabulary& vocabulary);
// Probabilities, and the names of all classes in each row.
ExportOutput classification_output(const ClassScores& scores, const LabelVocabulary& vocabulary);

// The weights of the rows, [batch, 1]; undefined when there are none. kInvalidArgument for another shape.
at::Tensor row_weights(const WeightColumn& column, const Features& features, const at::Tensor& logits);
// What a user's loss_fn gave, as [batch, 1]. kInvalidArgument, with both shapes, when it is not one number a row.
at::Tensor checked_row_losses(const at::Tensor& losses, const at::Tensor& logits);

}  // namespace belfry::internal
