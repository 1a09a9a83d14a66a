// Labels as the heads want them: one column, of the right kind, within the classes.
#pragma once

#include <ATen/core/Tensor.h>

#include "core/tensor_dict.h"
#include "estimator/heads/internal/label_vocabulary.h"

namespace belfry::internal {

// The only entry of the labels as [batch, 1] on the device of the logits; strings become ids. kInvalidArgument when
// there is none or are several, for a sparse tensor, another shape or number of rows, for numbers where there is a
// vocabulary and strings where there is none.
at::Tensor label_column(const Labels& labels, const at::Tensor& logits, const LabelVocabulary& vocabulary);

// kOutOfRange, with the first label that is not in [0, high] and its row. Waits for the device.
void check_label_range(const at::Tensor& labels, int64_t high);
// Floating-point labels, NaN in place of those that are not in [0, high]: what can be done without a wait.
at::Tensor nan_outside(const at::Tensor& labels, int64_t high);

}  // namespace belfry::internal
