// Attributes of a graph's nodes as JSON.
#pragma once

#include <c10/core/ScalarType.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "export/graph/graph.h"

namespace belfry::internal {

using Json = nlohmann::ordered_json;

// "float32", "string" and so on, and back; kDataLoss for a name that there is none of.
std::string dtype_key(c10::ScalarType dtype);
c10::ScalarType dtype_of(const std::string& key);

// Text as it is where it is UTF-8, else {"hex": "..."}.
Json text_json(const std::string& text);
std::string text_from_json(const Json& json);

bool is_utf8(const std::string& text);
Json texts_json(const std::vector<std::string>& texts);

// See receiver_json(). Reading fails with kDataLoss, or with what nlohmann throws.
Json attribute_json(const GraphAttributes::Attribute& attribute);
GraphAttributes::Attribute attribute_from_json(const Json& json);

}  // namespace belfry::internal
