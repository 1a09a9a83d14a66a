// Features that are numbers already.
#pragma once

#include <functional>

#include "dense_column.h"

namespace belfry {

struct NumericColumnOptions {
  // Of one row's value, all sizes 1 or more.
  std::vector<int64_t> shape = {1};
  // Applied to the float32 batch, [batch] + shape, which it may not write into; gives back the same shape.
  std::function<at::Tensor(const at::Tensor&)> normalizer_fn = {};
};

// The feature of that key as float32, flattened to one row of numbers. tf.feature_column.numeric_column without
// parsing.
class NumericColumn : public DenseColumn {
 public:
  // kInvalidArgument for an empty key, an empty shape or a size below 1.
  explicit NumericColumn(std::string key, NumericColumnOptions options = {});

  const std::string& key() const { return key_; }
  const std::vector<int64_t>& shape() const { return options_.shape; }
  std::string name() const override { return key_; }
  int64_t width() const override { return width_; }
  at::Tensor dense(const Features& features, ModelContext& ctx) const override;

  // [batch] + shape, normalized. kNotFound, with the features there are, when there is none of that key;
  // kInvalidArgument, with the column and both shapes, for another shape ([batch] fits shape {1}), and for strings.
  at::Tensor value(const Features& features) const;

 private:
  std::string key_;
  NumericColumnOptions options_;
  int64_t width_ = 1;
};

namespace feature_column {

std::shared_ptr<const NumericColumn> numeric_column(std::string key, NumericColumnOptions options = {});

}  // namespace feature_column
}  // namespace belfry
