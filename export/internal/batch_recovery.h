// Makes one graph for any number of rows out of two graphs that were traced with different ones.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include "export/internal/graph_text.h"

namespace belfry::internal {

// A graph and the number of rows that it was traced with. Its inputs are a module and then the features, whose
// dimension 0 is the batch.
struct TracedGraph {
  std::shared_ptr<torch::jit::Graph> graph;
  int64_t rows;
};

// Rewrites a.graph: every integer constant in which the two differ becomes n * k + c, with n the size of dimension 0 of
// the first feature. Sizes in which the two differ vanish from the types of a.graph's values.
// kUnimplemented, with the operation and both values, when the graphs differ in anything else.
void recover_batch(const TracedGraph& a, const TracedGraph& b, const VariableNames& variables);

}  // namespace belfry::internal
