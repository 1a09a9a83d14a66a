#include "estimator/feature_column/input_layer.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/error.h"

namespace belfry::feature_column {

DenseColumns sorted_by_name(DenseColumns columns) {
  require(!columns.empty(), "feature_columns is empty; at least one column is wanted");
  for (const auto& column : columns) require(column != nullptr, "feature_columns: an entry is a null pointer");
  std::sort(columns.begin(), columns.end(), [](const auto& a, const auto& b) { return a->name() < b->name(); });
  for (size_t i = 1; i < columns.size(); ++i) {
    require(columns[i]->name() != columns[i - 1]->name(), "feature_columns: there are two columns '",
            columns[i]->name(), "'");
  }
  return columns;
}

int64_t total_width(const DenseColumns& columns) {
  int64_t width = 0;
  for (const auto& column : columns) width += column->width();
  return width;
}

at::Tensor input_layer(const Features& features, const DenseColumns& columns, ModelContext& ctx) {
  require(!columns.empty(), "input_layer: there are no feature columns");
  require(!(features.size() == 1 && features.contains("")), "the features are a lone tensor without a name; feature ",
          "columns look for theirs by name: give a dictionary like {{\"", columns[0]->name(), "\", tensor}}");
  std::vector<at::Tensor> parts;
  for (const auto& column : columns) {
    at::Tensor part = column->dense(features, ctx);
    require(part.dim() == 2 && part.size(1) == column->width(), "feature column '", column->name(), "' gave shape ",
            part.sizes(), "; [batch, ", column->width(), "] is wanted");
    require(parts.empty() || part.size(0) == parts[0].size(0), "feature columns '", columns[0]->name(), "' and '",
            column->name(), "' differ in rows: ", parts.empty() ? 0 : parts[0].size(0), " and ", part.size(0));
    parts.push_back(std::move(part));
  }
  return parts.size() == 1 ? parts[0] : at::cat(parts, 1);
}

}  // namespace belfry::feature_column
