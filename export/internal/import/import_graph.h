// From a trace to the form that the writers of formats read.
#pragma once

#include "export/graph/graph.h"
#include "export/trace.h"

namespace belfry::internal {

// The graph of a trace, its outputs under the names and in the order of trace.outputs. Never fails: what no operation
// of a Graph expresses becomes a kUnsupported node with LibTorch's name and the reason, and the import goes on, so that
// all of it is known at once.
Graph import_graph(const Trace& trace);

}  // namespace belfry::internal
