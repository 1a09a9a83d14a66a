#include "estimator/heads/weight_column.h"

#include "core/error.h"

namespace belfry {

WeightColumn::WeightColumn(std::string name) {
  if (!name.empty()) column_ = feature_column::numeric_column(std::move(name));
}

WeightColumn::WeightColumn(const char* name) : WeightColumn(std::string(name)) {}

WeightColumn::WeightColumn(std::shared_ptr<const NumericColumn> column) : column_(std::move(column)) {}

at::Tensor WeightColumn::weights(const Features& features) const {
  if (empty()) return {};
  if (!features.contains(column_->key())) {
    std::string names;
    for (const std::string& name : features.names()) names += " '" + name + "'";
    fail(ErrorKind::kNotFound, "weight_column '", column_->key(), "' is not among the features:", names);
  }
  return column_->value(features);
}

}  // namespace belfry
