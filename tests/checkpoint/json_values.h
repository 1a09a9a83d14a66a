// A checkpoint against the values that TensorFlow read from it (tests/peers/checkpoint_peer_test.py writes them).
#pragma once

#include <ATen/ATen.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "checkpoint/checkpoint_reader.h"
#include "core/error.h"
#include "tests/support/hex.h"

namespace belfry::testing {

using Json = nlohmann::json;

inline Json read_json(const std::string& path) {
  std::ifstream in(path);
  if (!in) fail(ErrorKind::kNotFound, "no file '", path, "'");
  return Json::parse(in);
}

inline double json_number(const Json& json) {
  return json.is_string() ? std::strtod(json.get<std::string>().c_str(), nullptr) : json.get<double>();
}

inline bool same_integers(const at::Tensor& tensor, const Json& values) {
  const bool is_uint64 = tensor.scalar_type() == at::ScalarType::UInt64;  // compared by its bits
  const at::Tensor longs = (is_uint64 ? tensor.view(at::kLong) : tensor.to(at::kLong)).reshape(-1);
  for (int64_t i = 0; i < longs.numel(); ++i) {
    const Json& value = values[static_cast<size_t>(i)];
    const int64_t wanted = is_uint64 ? static_cast<int64_t>(value.get<uint64_t>()) : value.get<int64_t>();
    if (longs.const_data_ptr<int64_t>()[i] != wanted) return false;
  }
  return true;
}

inline bool same_numbers(at::Tensor tensor, const Json& values) {
  if (tensor.is_complex()) tensor = at::view_as_real(tensor);
  if (values.size() != static_cast<size_t>(tensor.numel())) return false;
  if (!tensor.is_floating_point()) return same_integers(tensor, values);
  const at::Tensor doubles = tensor.to(at::kDouble).reshape(-1);
  for (int64_t i = 0; i < doubles.numel(); ++i) {
    if (doubles.const_data_ptr<double>()[i] != json_number(values[static_cast<size_t>(i)])) return false;
  }
  return true;
}

inline bool same_strings(const StringTensor& strings, const Json& values) {
  if (values.size() != static_cast<size_t>(strings.numel())) return false;
  for (int64_t i = 0; i < strings.numel(); ++i) {
    if (hex(strings[i]) != values[static_cast<size_t>(i)].get<std::string>()) return false;
  }
  return true;
}

inline std::string dtype_name(const CheckpointVariable& variable) {
  switch (variable.dtype) {
    case at::ScalarType::Float:
      return "float32";
    case at::ScalarType::Double:
      return "float64";
    case at::ScalarType::Half:
      return "float16";
    case at::ScalarType::BFloat16:
      return "bfloat16";
    case at::ScalarType::Bool:
      return "bool";
    case at::ScalarType::Char:
      return "int8";
    case at::ScalarType::Short:
      return "int16";
    case at::ScalarType::Int:
      return "int32";
    case at::ScalarType::Long:
      return "int64";
    case at::ScalarType::Byte:
      return "uint8";
    case at::ScalarType::UInt16:
      return "uint16";
    case at::ScalarType::UInt32:
      return "uint32";
    case at::ScalarType::UInt64:
      return "uint64";
    case at::ScalarType::ComplexFloat:
      return "complex64";
    case at::ScalarType::ComplexDouble:
      return "complex128";
    default:
      return variable.is_strings ? "string" : "unknown";
  }
}

// Every variable's name, type, shape and values, bit for bit but for the sign of zero. Empty, or the first that
// differs.
inline std::string difference(const CheckpointReader& reader, const Json& expected) {
  if (reader.variables().size() != expected.size()) {
    return concat(reader.variables().size(), " variables, and ", expected.size(), " were wanted");
  }
  for (const CheckpointVariable& variable : reader.variables()) {
    if (!expected.contains(variable.name)) return concat("'", variable.name, "' was not wanted");
    const Json& wanted = expected[variable.name];
    if (dtype_name(variable) != wanted["dtype"] || variable.shape != wanted["shape"]) {
      return concat("'", variable.name, "' has another type or shape");
    }
    const bool same = variable.is_strings ? same_strings(reader.strings(variable.name), wanted["values"])
                                          : same_numbers(reader.tensor(variable.name), wanted["values"]);
    if (!same) return concat("'", variable.name, "' has other values");
  }
  return "";
}

}  // namespace belfry::testing
