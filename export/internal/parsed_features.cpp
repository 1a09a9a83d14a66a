#include "export/internal/parsed_features.h"

#include <ATen/ATen.h>

#include "core/error.h"

namespace belfry::internal {
namespace {

std::optional<Value> default_of(const GraphAttributes& attributes, size_t i) {
  const auto found = attributes.all().find(concat("default_", i));
  if (found == attributes.all().end()) return std::nullopt;
  if (const auto* strings = std::get_if<StringTensor>(&found->second)) return *strings;
  return attributes.tensor(found->first);
}

}  // namespace

FeatureSpecs parsed_features(const GraphAttributes& attributes, const std::vector<GraphType>& types) {
  FeatureSpecs specs;
  for (size_t i = 0; i < types.size(); ++i) {
    const GraphType& type = types[i];
    const std::string& key = attributes.strings("keys")[static_cast<int64_t>(i)];
    const int64_t length = attributes.integers("lengths").at(i);
    if (length >= 0) {
      specs.emplace_back(key, VarLenFeature{type.dtype, length, default_of(attributes, i)});
    } else {
      const std::vector<int64_t> shape(type.shape.begin() + (type.shape.empty() ? 0 : 1), type.shape.end());
      specs.emplace_back(key, FixedLenFeature{type.dtype, shape, default_of(attributes, i)});
    }
  }
  return specs;
}

}  // namespace belfry::internal
