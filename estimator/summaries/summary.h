// What a step notes for TensorBoard.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace belfry {

enum class SummaryKind {
  kScalar,        // the one number
  kHistogram,     // the distribution of the elements
  kZeroFraction,  // the share of the elements that are zero, a scalar
};

// Computed of `value` only in the steps whose summaries are written.
struct Summary {
  std::string tag;
  at::Tensor value;
  SummaryKind kind = SummaryKind::kScalar;
};
using Summaries = std::vector<Summary>;

}  // namespace belfry
