// Where the weights of a batch's rows come from.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>

#include "../feature_column/numeric_column.h"

namespace belfry {

// A feature's name, a numeric column (whose normalizer then applies), or nothing: every row weighs 1. Immutable;
// threads may share it.
class WeightColumn {
 public:
  WeightColumn() = default;
  WeightColumn(std::string name);                             // NOLINT(google-explicit-constructor)
  WeightColumn(const char* name);                             // NOLINT(google-explicit-constructor)
  WeightColumn(std::shared_ptr<const NumericColumn> column);  // NOLINT(google-explicit-constructor)

  bool empty() const { return !column_; }
  // float32, [batch, 1] (or [batch] + the column's shape) for a feature [batch] or [batch, 1]; undefined when empty().
  // kNotFound, naming the weight column, when the features have none of that name; kInvalidArgument for strings or
  // another shape.
  at::Tensor weights(const Features& features) const;

 private:
  std::shared_ptr<const NumericColumn> column_;
};

}  // namespace belfry
