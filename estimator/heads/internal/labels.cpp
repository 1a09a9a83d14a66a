#include "estimator/heads/internal/labels.h"

#include <ATen/ATen.h>

#include <limits>

#include "core/error.h"
#include "distribute/step_context.h"

namespace belfry::internal {

at::Tensor label_column(const Labels& labels, const at::Tensor& logits, const LabelVocabulary& vocabulary) {
  require(!labels.empty(), "head: the input has no labels; training and evaluation need them");
  const Value& value = labels.only();
  require(value.is_strings() || !vocabulary.takes_strings(),
          "head: label_vocabulary is given, so labels have to be strings; they are ",
          value.is_tensor() ? concat(value.tensor().scalar_type()) : std::string());
  require(value.is_tensor() || vocabulary.takes_strings(),
          "head: labels are strings; label_vocabulary has to name the ", vocabulary.size(), " classes");
  require(value.is_strings() || value.tensor().layout() == at::kStrided,
          "head: labels are a sparse tensor; dense ones are wanted, as to_dense() makes them");
  const std::vector<int64_t> sizes = value.sizes();
  require((sizes.size() == 1 || (sizes.size() == 2 && sizes[1] == 1)) && sizes[0] == logits.size(0),
          "head: labels have shape ", at::IntArrayRef(sizes), "; [batch] or [batch, 1] with the ", logits.size(0),
          " rows of the logits is wanted");
  const at::Tensor column = value.is_tensor() ? value.tensor() : vocabulary.ids(value.strings());
  return column.to(logits.device()).reshape({-1, 1});
}

namespace {

at::Tensor is_inside(const at::Tensor& labels, int64_t high) {
  return labels.ge(0).logical_and(labels.le(high));  // false for NaN too
}

}  // namespace

at::Tensor nan_outside(const at::Tensor& labels, int64_t high) {
  return labels.masked_fill(is_inside(labels, high).logical_not(), std::numeric_limits<double>::quiet_NaN());
}

void check_label_range(const at::Tensor& labels, int64_t high) {
  const at::Tensor inside = is_inside(labels, high);
  if (inside.all().item<bool>()) return;
  const int64_t row = inside.logical_not().nonzero()[0][0].item<int64_t>();
  fail(ErrorKind::kOutOfRange, "label ", labels[row][0].item<double>(), " in ",
       StepContext::describe_row(row, labels.size(0)), " is not within 0 to ", high);
}

}  // namespace belfry::internal
