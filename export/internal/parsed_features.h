// What a node that parses examples looks for.
#pragma once

#include <vector>

#include "data/feature_spec.h"
#include "export/graph/graph.h"

namespace belfry::internal {

// The specs that GraphBuilder::parse_example made the node of; `types` are those of its outputs. kInternal, or
// std::out_of_range, for attributes that it does not make.
FeatureSpecs parsed_features(const GraphAttributes& attributes, const std::vector<GraphType>& types);

}  // namespace belfry::internal
