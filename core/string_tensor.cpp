#include "core/string_tensor.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "core/error.h"

namespace belfry {
namespace {

int64_t product(const std::vector<int64_t>& sizes, size_t from = 0) {
  return std::accumulate(sizes.begin() + static_cast<std::ptrdiff_t>(std::min(from, sizes.size())), sizes.end(),
                         int64_t{1}, std::multiplies<>());
}

std::string shape_text(const std::vector<int64_t>& sizes) {
  std::string text = "[";
  for (size_t i = 0; i < sizes.size(); ++i) text += (i ? ", " : "") + std::to_string(sizes[i]);
  return text + "]";
}

}  // namespace

StringTensor::StringTensor(std::vector<std::string> values)
    : values_(std::make_shared<const std::vector<std::string>>(std::move(values))),
      numel_(static_cast<int64_t>(values_->size())),
      sizes_{numel_} {}

StringTensor::StringTensor(std::initializer_list<const char*> values)
    : StringTensor(std::vector<std::string>(values.begin(), values.end())) {}

StringTensor::StringTensor(std::vector<std::string> values, std::vector<int64_t> sizes)
    : StringTensor(std::move(values)) {
  *this = reshape(std::move(sizes));
}

int64_t StringTensor::size(int64_t dimension) const {
  require(dimension >= 0 && dimension < dim(), "StringTensor::size: dimension ", dimension, " of a tensor of shape ",
          shape_text(sizes_));
  return sizes_[static_cast<size_t>(dimension)];
}

const std::string& StringTensor::operator[](int64_t i) const {
  if (i < 0 || i >= numel_) fail(ErrorKind::kOutOfRange, "StringTensor: element ", i, " of ", numel_);
  return (*values_)[static_cast<size_t>(offset_ + i)];
}

int64_t StringTensor::row_size() const { return product(sizes_, 1); }

StringTensor StringTensor::narrow(int64_t start, int64_t length) const {
  require(dim() > 0, "StringTensor::narrow: a scalar has no rows");
  if (start < 0 || length < 0 || start + length > sizes_[0]) {
    fail(ErrorKind::kOutOfRange, "StringTensor::narrow: rows ", start, " to ", start + length, " of ", sizes_[0]);
  }
  StringTensor part = *this;
  part.offset_ += start * row_size();
  part.numel_ = length * row_size();
  part.sizes_[0] = length;
  return part;
}

StringTensor StringTensor::index_select(const std::vector<int64_t>& rows) const {
  require(dim() > 0, "StringTensor::index_select: a scalar has no rows");
  std::vector<std::string> values;
  values.reserve(rows.size() * static_cast<size_t>(row_size()));
  for (int64_t row : rows) {
    const StringTensor one = narrow(row, 1);
    values.insert(values.end(), one.begin(), one.end());
  }
  std::vector<int64_t> sizes = sizes_;
  sizes[0] = static_cast<int64_t>(rows.size());
  return {std::move(values), std::move(sizes)};
}

StringTensor StringTensor::reshape(std::vector<int64_t> sizes) const {
  const bool negative = std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size < 0; });
  require(!negative && product(sizes) == numel_, "StringTensor: ", numel_, " strings do not fill the shape ",
          shape_text(sizes));
  StringTensor other = *this;
  other.sizes_ = std::move(sizes);
  return other;
}

bool operator==(const StringTensor& a, const StringTensor& b) {
  return a.sizes_ == b.sizes_ && std::equal(a.begin(), a.end(), b.begin());
}

StringTensor cat(const std::vector<StringTensor>& parts) {
  require(!parts.empty(), "cat: no string tensors were given");
  std::vector<std::string> values;
  std::vector<int64_t> sizes = parts[0].sizes();
  require(!sizes.empty(), "cat: a scalar has no rows");
  sizes[0] = 0;
  for (const StringTensor& part : parts) {
    std::vector<int64_t> expected = part.sizes();
    if (!expected.empty()) expected[0] = sizes[0];
    require(expected == sizes, "cat: shape ", shape_text(part.sizes()), " does not fit ", shape_text(parts[0].sizes()),
            " but for dimension 0");
    values.insert(values.end(), part.begin(), part.end());
    sizes[0] += part.sizes()[0];
  }
  return {std::move(values), std::move(sizes)};
}

}  // namespace belfry
