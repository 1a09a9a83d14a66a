// Tensors and errors of reference/distribute.json.
#pragma once

#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "core/error.h"
#include "tests/support/reference.h"

namespace belfry::testing {

inline at::ScalarType dtype_named(const std::string& name) {
  if (name == "float32") return at::kFloat;
  if (name == "float64") return at::kDouble;
  if (name == "int32") return at::kInt;
  if (name == "int64") return at::kLong;
  require(name == "bool", "a reference file has the dtype ", name);
  return at::kBool;
}

// {dtype, shape, data}, or a number.
inline at::Tensor tensor_of(const Json& json) {
  if (json.is_number_float()) return at::full({}, json.get<double>(), at::kDouble);
  if (json.is_number()) return at::full({}, json.get<int64_t>(), at::kLong);
  std::vector<double> numbers;
  append_numbers(json.at("data"), numbers);
  const auto shape = json.at("shape").get<std::vector<int64_t>>();
  return at::tensor(numbers, at::kDouble).reshape(shape).to(dtype_named(json.at("dtype")));
}

inline std::vector<at::Tensor> tensors_of(const Json& list) {
  std::vector<at::Tensor> tensors;
  for (const Json& json : list) tensors.push_back(tensor_of(json));
  return tensors;
}

// Integers exactly, float32 to 1e-5, with the dtype.
inline void check_tensor(const at::Tensor& actual, const Json& expected) {
  const at::Tensor wanted = tensor_of(expected);
  CHECK(actual.scalar_type() == wanted.scalar_type());
  check_close(actual, wanted, at::isFloatingType(wanted.scalar_type()) ? 1e-5 : 0, 1e-6);
}

}  // namespace belfry::testing
