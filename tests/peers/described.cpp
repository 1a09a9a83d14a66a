#include "described.h"

#include <ATen/ATen.h>

#include <vector>

#include "tests/support/hex.h"

namespace belfry::testing {

using Json = nlohmann::json;

namespace {

template <class Number>
Json numbers(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.to(c10::CppTypeToScalarType<Number>::value).contiguous();
  return std::vector<Number>(flat.const_data_ptr<Number>(), flat.const_data_ptr<Number>() + flat.numel());
}

}  // namespace

Json described(const Value& value) {
  if (value.is_strings()) {
    Json values = Json::array();
    for (const std::string& string : value.strings()) values.push_back(hex(string));
    return {{"dtype", "string"}, {"shape", value.sizes()}, {"values", values}};
  }
  const at::Tensor& tensor = value.tensor();
  const std::string dtype = c10::getDtypeNames(tensor.scalar_type()).first;
  // Doubles hold large integers in part only.
  const Json values = at::isIntegralType(tensor.scalar_type(), /*includeBool=*/true) ? numbers<int64_t>(tensor)
                                                                                     : numbers<double>(tensor);
  return {{"dtype", dtype}, {"shape", value.sizes()}, {"values", values}};
}

Json described(const TensorDict& dict) {
  Json all = Json::object();
  for (const auto& [name, value] : dict) all[name] = described(value);
  return all;
}

}  // namespace belfry::testing
