// Two classes from one logit.
#pragma once

#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "head.h"
#include "weight_column.h"

namespace belfry {

namespace internal {
class LabelVocabulary;
}

struct BinaryClassHeadOptions {
  WeightColumn weight_column = {};
  // Each strictly between 0 and 1: evaluation adds accuracy, precision and recall at it.
  std::vector<double> thresholds = {};
  // Two names, of class 0 and class 1; then labels are strings.
  std::vector<std::string> label_vocabulary = {};
  LossReduction loss_reduction = LossReduction::kSumOverBatchSize;
  HeadLossFn loss_fn = {};  // labels and logits are float [batch, 1]
  std::string name = "";
};

// Sigmoid cross entropy. Labels are [batch] or [batch, 1], one entry: numbers from 0 to 1, or strings with
// label_vocabulary. Errors name the first offender and its row in the batch: kOutOfRange outside 0 to 1 and for a
// string that is not in the vocabulary, kInvalidArgument for a wrong kind or shape. On a GPU, whose queue a look at the
// numbers would stop, the loss of a row with a label outside 0 to 1 is NaN instead, which RunConfig::check_numerics
// catches before the step reaches a variable.
//
// Predictions: logits and logistic (probability of class 1) [batch, 1]; probabilities [batch, 2]; class_ids int64
// [batch, 1] (1 where the logit is above 0); classes, strings [batch, 1]; all_class_ids int32 [batch, 2]; all_classes,
// strings [batch, 2].
// Metrics: average_loss (weighted mean), accuracy, precision, recall, prediction/mean, label/mean, accuracy_baseline,
// auc, auc_precision_recall, and for each threshold T accuracy/positive_threshold_T, precision/..., recall/....
// Export: serving_default and classification (probabilities with classes), regression (logistic), predict.
class BinaryClassHead : public Head {
 public:
  // kInvalidArgument for a threshold outside (0, 1), a vocabulary of other than two different names, or kNone.
  explicit BinaryClassHead(BinaryClassHeadOptions options = {});

  std::string name() const override { return options_.name; }
  int64_t logits_dimension() const override { return 1; }
  LossReduction loss_reduction() const override { return options_.loss_reduction; }
  at::Tensor loss(const Features& features, const Labels& labels, const at::Tensor& logits, ModelContext& ctx,
                  std::source_location where = std::source_location::current()) const override;
  Predictions predictions(const at::Tensor& logits) const override;
  Predictions eval_predictions(const at::Tensor& logits) const override;
  EvalMetricOps metrics(const Features& features, const Labels& labels, const at::Tensor& logits) const override;
  ExportOutputs export_outputs(const at::Tensor& logits) const override;

 private:
  at::Tensor label_column(const Labels& labels, const at::Tensor& logits) const;
  at::Tensor row_losses(const at::Tensor& labels, const at::Tensor& logits, const Features& features) const;

  BinaryClassHeadOptions options_;
  std::shared_ptr<const internal::LabelVocabulary> vocabulary_;
};

}  // namespace belfry
