// Small data sets and what is read from them.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "data/dataset.h"
#include "tests/support/test_data.h"
#include "tests/testing.h"

namespace belfry::testing {

inline std::string example_data(const std::string& file) { return belfry::testing::test_data("../examples/data/" + file); }

// The numbers 0 to count, as feature "x" [count] and label [count], which is ten times x.
inline Dataset numbers(int64_t count) {
  const at::Tensor x = at::arange(count, at::kLong);
  return Dataset::from_tensors({{"x", x}}, x * 10);
}

inline std::vector<int64_t> to_vector(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.to(at::kLong).flatten().contiguous();
  return {flat.const_data_ptr<int64_t>(), flat.const_data_ptr<int64_t>() + flat.numel()};
}

// The values of "x" of each element, at most `limit` elements.
inline std::vector<std::vector<int64_t>> read_x(DatasetIterator& iterator, int64_t limit = 1000000) {
  std::vector<std::vector<int64_t>> elements;
  while (static_cast<int64_t>(elements.size()) < limit) {
    const std::optional<Batch> element = iterator.next();
    if (!element) break;
    elements.push_back(to_vector(element->features["x"]));
  }
  return elements;
}

inline std::vector<std::vector<int64_t>> batches_of(const Dataset& data, int64_t limit = 1000000) {
  DatasetIterator iterator = data.iterate();
  return read_x(iterator, limit);
}

// The same, one after another.
inline std::vector<int64_t> values_of(const Dataset& data, int64_t limit = 1000000) {
  std::vector<int64_t> values;
  for (const auto& element : batches_of(data, limit)) values.insert(values.end(), element.begin(), element.end());
  return values;
}

// A generator of the numbers 0 to count, as a stream without random access.
inline std::function<Generator()> counting(int64_t count) {
  return [count] {
    return [count, i = int64_t{0}]() mutable -> std::optional<Batch> {
      if (i == count) return std::nullopt;
      const at::Tensor x = at::scalar_tensor(i++, at::kLong);
      return Batch{{{"x", x}}, x * 10};
    };
  };
}

// The same, which saves and restores by itself.
inline std::function<Generator()> seekable(int64_t count) {
  return [count] {
    const auto i = std::make_shared<int64_t>(0);
    auto next = [count, i]() -> std::optional<Batch> {
      if (*i == count) return std::nullopt;
      const at::Tensor x = at::scalar_tensor((*i)++, at::kLong);
      return Batch{{{"x", x}}, x * 10};
    };
    return Generator(
        next, [i] { return std::to_string(*i); }, [i](const std::string& at) { *i = std::stoll(at); });
  };
}

template <class Function>
ErrorKind kind_of(const Function& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.kind();
  }
  FAIL("no error was thrown");
  return ErrorKind::kInternal;
}

}  // namespace belfry::testing
