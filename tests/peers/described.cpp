#include "described.h"

#include <ATen/ATen.h>

#include "tests/support/hex.h"

namespace belfry::testing {

using Json = nlohmann::json;

Json described(const Value& value) {
  Json values = Json::array();
  if (value.is_strings()) {
    for (const std::string& string : value.strings()) values.push_back(hex(string));
    return {{"dtype", "string"}, {"shape", value.sizes()}, {"values", values}};
  }
  const at::Tensor flat = value.tensor().to(at::kDouble).contiguous().flatten();
  for (int64_t i = 0; i < flat.numel(); ++i) values.push_back(flat.const_data_ptr<double>()[i]);
  const std::string dtype = c10::getDtypeNames(value.tensor().scalar_type()).first;
  return {{"dtype", dtype}, {"shape", value.sizes()}, {"values", values}};
}

Json described(const TensorDict& dict) {
  Json all = Json::object();
  for (const auto& [name, value] : dict) all[name] = described(value);
  return all;
}

}  // namespace belfry::testing
