// One of several classes, one logit each.
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

struct MultiClassHeadOptions {
  WeightColumn weight_column = {};
  // The classes' names in the order of their ids; then labels are strings.
  std::vector<std::string> label_vocabulary = {};
  LossReduction loss_reduction = LossReduction::kSumOverBatchSize;
  HeadLossFn loss_fn = {};  // labels are int64 [batch, 1]
  std::string name = "";
};

// Softmax cross entropy of exclusive classes. Labels are [batch] or [batch, 1], one entry: integers from 0 to
// n_classes - 1, or strings with label_vocabulary. Errors are those of BinaryClassHead.
//
// Predictions: logits and probabilities [batch, n_classes]; class_ids int64 [batch, 1] (the lowest of the highest);
// classes, strings [batch, 1]; all_class_ids int32 and all_classes, strings, [batch, n_classes].
// Metrics: accuracy, average_loss (weighted mean). Export: serving_default and classification, predict.
class MultiClassHead : public Head {
 public:
  // kInvalidArgument for fewer than 3 classes (2 are BinaryClassHead's), a vocabulary that is not n_classes different
  // names, or kNone.
  explicit MultiClassHead(int64_t n_classes, MultiClassHeadOptions options = {});

  std::string name() const override { return options_.name; }
  int64_t logits_dimension() const override { return n_classes_; }
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

  int64_t n_classes_;
  MultiClassHeadOptions options_;
  std::shared_ptr<const internal::LabelVocabulary> vocabulary_;
};

}  // namespace belfry
