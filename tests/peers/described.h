// Values as JSON that peer_cases.py's to_array takes apart.
#pragma once

#include <nlohmann/json.hpp>

#include "core/tensor_dict.h"

namespace belfry::testing {

// {"dtype", "shape", "values"}: the values one behind another, strings as the hexadecimal digits of their bytes.
nlohmann::json described(const Value& value);

// The values by name.
nlohmann::json described(const TensorDict& dict);

}  // namespace belfry::testing
