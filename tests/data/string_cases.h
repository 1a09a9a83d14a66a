// Questions about strings and examples with TensorFlow's answers, as tests/peers/strings_peer_test.py writes them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace belfry::testing {

// Empty when Belfry answers as TensorFlow did, otherwise what differs. An error that TensorFlow has is any Error here.
std::string string_case_difference(const nlohmann::json& string_case);

}  // namespace belfry::testing
