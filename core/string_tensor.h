// Strings in the shape of a tensor: labels, categories, serialized examples.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace belfry {

// An immutable row-major array of byte strings. Copies and narrow() share the strings; threads may read one object at
// the same time.
class StringTensor {
 public:
  // Shape [0].
  StringTensor() : StringTensor(std::vector<std::string>()) {}
  // Shape [values.size()].
  StringTensor(std::vector<std::string> values);  // NOLINT(google-explicit-constructor)
  StringTensor(std::initializer_list<const char*> values);
  // kInvalidArgument, with both counts, unless the product of `sizes` is the number of values. An empty shape is a
  // scalar and wants one value.
  StringTensor(std::vector<std::string> values, std::vector<int64_t> sizes);

  const std::vector<int64_t>& sizes() const { return sizes_; }
  int64_t dim() const { return static_cast<int64_t>(sizes_.size()); }
  // kInvalidArgument when there is no such dimension.
  int64_t size(int64_t dimension) const;
  int64_t numel() const { return numel_; }

  // The i-th value in row-major order; kOutOfRange outside [0, numel()). Valid as long as any copy lives.
  const std::string& operator[](int64_t i) const;
  std::vector<std::string> to_vector() const { return {begin(), end()}; }
  const std::string* begin() const { return values_->data() + offset_; }
  const std::string* end() const { return begin() + numel_; }

  // Rows [start, start + length) of dimension 0, without a copy.
  StringTensor narrow(int64_t start, int64_t length) const;
  // The given rows of dimension 0, in that order; kOutOfRange for a row that is not there.
  StringTensor index_select(const std::vector<int64_t>& rows) const;
  // The same strings in another shape of the same count.
  StringTensor reshape(std::vector<int64_t> sizes) const;

  // Same shape and same bytes.
  friend bool operator==(const StringTensor& a, const StringTensor& b);

 private:
  int64_t row_size() const;

  std::shared_ptr<const std::vector<std::string>> values_;
  int64_t offset_ = 0;
  int64_t numel_ = 0;
  std::vector<int64_t> sizes_;
};

// Concatenation along dimension 0. kInvalidArgument for no parts, scalars, or parts that differ in other dimensions.
StringTensor cat(const std::vector<StringTensor>& parts);

}  // namespace belfry
