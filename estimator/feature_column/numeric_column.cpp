#include "estimator/feature_column/numeric_column.h"

#include <ATen/ATen.h>

#include "core/error.h"

namespace belfry {
namespace {

std::vector<int64_t> with_batch(int64_t rows, const std::vector<int64_t>& shape) {
  std::vector<int64_t> sizes{rows};
  sizes.insert(sizes.end(), shape.begin(), shape.end());
  return sizes;
}

}  // namespace

NumericColumn::NumericColumn(std::string key, NumericColumnOptions options)
    : key_(std::move(key)), options_(std::move(options)) {
  require(!key_.empty(), "numeric_column: the key is empty");
  require(!options_.shape.empty(), "numeric_column '", key_, "': the shape is empty; {1} stands for one number");
  for (const int64_t size : options_.shape) {
    require(size >= 1, "numeric_column '", key_, "': the shape is ", at::IntArrayRef(options_.shape),
            "; sizes of 1 or more are wanted");
    width_ *= size;
  }
}

at::Tensor NumericColumn::value(const Features& features) const {
  const Value& feature = features.at(key_);
  require(feature.is_tensor(), "numeric_column '", key_, "': the feature holds strings; numbers are wanted");
  const at::Tensor& raw = feature.tensor();
  const std::vector<int64_t> wanted = with_batch(raw.dim() > 0 ? raw.size(0) : -1, options_.shape);
  const bool fits = raw.sizes() == at::IntArrayRef(wanted) || (raw.dim() == 1 && width_ == 1);
  require(fits && !raw.is_complex(), "numeric_column '", key_, "': the feature is ", raw.scalar_type(), " of shape ",
          raw.sizes(), "; numbers of shape [batch] + ", at::IntArrayRef(options_.shape), " are wanted");
  const at::Tensor numbers = raw.to(at::kFloat).reshape(wanted);
  if (!options_.normalizer_fn) return numbers;
  const at::Tensor normalized = options_.normalizer_fn(numbers);
  require(normalized.defined() && normalized.sizes() == numbers.sizes(), "numeric_column '", key_,
          "': normalizer_fn made ", normalized.defined() ? concat(normalized.sizes()) : std::string("nothing"), " of ",
          numbers.sizes(), "; the shape has to stay");
  return normalized.to(at::kFloat);
}

at::Tensor NumericColumn::dense(const Features& features, ModelContext&) const {
  const at::Tensor numbers = value(features);
  return numbers.dim() == 2 ? numbers : numbers.flatten(1);
}

namespace feature_column {

std::shared_ptr<const NumericColumn> numeric_column(std::string key, NumericColumnOptions options) {
  return std::make_shared<NumericColumn>(std::move(key), std::move(options));
}

}  // namespace feature_column
}  // namespace belfry
