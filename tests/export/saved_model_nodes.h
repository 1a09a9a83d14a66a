// The nodes of a SavedModel's graph, and what its signatures say of them.
#pragma once

#include <map>
#include <string>

#include "belfry/core/saved_model.pb.h"

namespace belfry::testing {

std::map<std::string, proto::NodeDef> nodes_of(const proto::MetaGraphDef& meta);

// Checks for everything that a loader would find wrong without running the graph.
void check_nodes(const proto::MetaGraphDef& meta);

// Checks that signatures name outputs of nodes, with dtypes and shapes: without a shape a tensor counts as a scalar,
// and the loader that servers link finds a wrong name only when a request comes.
void check_signatures(const proto::MetaGraphDef& meta);

}  // namespace belfry::testing
