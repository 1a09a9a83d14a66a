// From a trace to the form that the writers of formats read.
#pragma once

#include "export/graph/graph_builder.h"
#include "export/trace.h"

namespace belfry::internal {

// The graph of a trace, its outputs under the names and in the order of trace.outputs. Never fails: what no operation
// of a Graph expresses becomes a kUnsupported node with LibTorch's name and the reason, and the import goes on, so that
// all of it is known at once.
Graph import_graph(const Trace& trace);

// The same behind what `graph` has, with these values for the inputs of the trace.
std::vector<GraphOutput> import_graph(const Trace& trace, GraphBuilder& graph, const std::vector<GraphValue>& inputs);

}  // namespace belfry::internal
