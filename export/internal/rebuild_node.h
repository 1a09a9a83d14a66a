// Nodes of a receiver that come from a file.
#pragma once

#include <vector>

#include "export/graph/graph_builder.h"

namespace belfry::internal {

// Adds the node by the builder's own call for it, which checks its inputs and attributes, as a file may hold anything.
// Its values, of exactly these types. kDataLoss, or what the builder says, for a node that no receiver has.
std::vector<GraphValue> rebuild_node(GraphBuilder& graph, Operation operation, const std::vector<GraphValue>& inputs,
                                     const GraphAttributes& attributes, const std::vector<GraphType>& types);

}  // namespace belfry::internal
