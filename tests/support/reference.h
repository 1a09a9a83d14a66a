// Numbers of the original, from tests/reference/<name>.json, or from the folder that BELFRY_REFERENCE_DIR names: other
// numbers and sizes in the same form. Needs tests/testing.h before it.
#pragma once

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/error.h"
#include "tests/support/test_data.h"
#include "tests/testing.h"

namespace belfry::testing {

using Json = nlohmann::json;

// The whole file. Fails the test, with the path, when it is not there.
inline Json reference(const std::string& name) {
  const char* other = std::getenv("BELFRY_REFERENCE_DIR");
  const std::string own = test_data("reference/" + name + ".json");
  std::string path = other ? std::string(other) + "/" + name + ".json" : own;
  // What lies in a folder beside the numbers, as the model directories of TensorFlow, need not be there too.
  if (name.find('/') != std::string::npos && !std::filesystem::exists(path)) path = own;
  std::ifstream in(path);
  if (!in) FAIL("no reference file " << path);
  return Json::parse(in);
}

// A number, a bool, or the text of one that JSON lacks: "nan", "inf", "-inf".
inline double to_number(const Json& json) {
  if (json.is_boolean()) return json.get<bool>() ? 1 : 0;
  if (!json.is_string()) return json.get<double>();
  const std::string text = json.get<std::string>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  fail(ErrorKind::kInvalidArgument, "'", text, "' in a reference file is not a number");
}

inline void append_numbers(const Json& json, std::vector<double>& to) {
  if (!json.is_array()) return to.push_back(to_number(json));
  for (const Json& part : json) append_numbers(part, to);
}

inline std::vector<int64_t> shape_of(const Json& json) {
  std::vector<int64_t> sizes;
  for (const Json* level = &json; level->is_array(); level = &level->front()) {
    sizes.push_back(static_cast<int64_t>(level->size()));
    if (level->empty()) break;
  }
  return sizes;
}

// A number or nested arrays of numbers.
inline at::Tensor to_tensor(const Json& json, at::ScalarType dtype = at::kFloat) {
  std::vector<double> numbers;
  append_numbers(json, numbers);
  return torch::tensor(numbers, at::kDouble).reshape(shape_of(json)).to(dtype);
}

// True when |actual - expected| <= absolute + relative * |expected|; NaN is close to NaN, an infinity to itself.
inline bool is_close(double actual, double expected, double relative, double absolute) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (std::isinf(expected)) return actual == expected;
  return std::abs(actual - expected) <= absolute + relative * std::abs(expected);
}

// Shape and every element; says which one differs most, and both values.
inline void check_close(const at::Tensor& actual, const at::Tensor& expected, double relative = 1e-5,
                        double absolute = 1e-6) {
  INFO("shape " << actual.sizes() << ", expected " << expected.sizes());
  REQUIRE(actual.sizes() == expected.sizes());
  const at::Tensor a = actual.detach().cpu().to(at::kDouble).contiguous();
  const at::Tensor e = expected.detach().cpu().to(at::kDouble).contiguous();
  int64_t worst = -1;
  for (int64_t i = 0; i < a.numel(); ++i) {
    const double* left = a.const_data_ptr<double>();
    const double* right = e.const_data_ptr<double>();
    if (is_close(left[i], right[i], relative, absolute)) continue;
    if (worst < 0 || !(std::abs(left[i] - right[i]) <= std::abs(left[worst] - right[worst]))) worst = i;
  }
  if (worst >= 0) {
    FAIL_CHECK("element " << worst << " of " << a.numel() << " is " << a.const_data_ptr<double>()[worst]
                          << ", expected " << e.const_data_ptr<double>()[worst] << " (relative " << relative
                          << ", absolute " << absolute << ")");
  } else {
    SUCCEED();
  }
}

inline void check_close(const at::Tensor& actual, const Json& expected, double relative = 1e-5,
                        double absolute = 1e-6) {
  check_close(actual, to_tensor(expected, at::kDouble), relative, absolute);
}

}  // namespace belfry::testing
