// Makes one graph for any number of rows, and any length of a row, out of graphs that were traced with several.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <memory>
#include <vector>

#include "export/internal/free_sizes.h"
#include "export/internal/graph_text.h"

namespace belfry::internal {

// A graph and the sizes that it was traced with. Its inputs are a module and then the features.
struct TracedGraph {
  std::shared_ptr<torch::jit::Graph> graph;
  FreeSizes sizes;
};

// Rewrites the graph of the first of `traces`, which are those of sizes_to_trace(): every integer constant in which
// they differ becomes a + b * rows + c * length + d * rows * length, with the sizes read from the features. Sizes in
// which they differ vanish from the types of its values. kUnimplemented, with the operation and the values, when the
// graphs differ in anything else.
void recover_sizes(const std::vector<TracedGraph>& traces, const std::vector<ServingInput>& inputs,
                   const VariableNames& variables);

}  // namespace belfry::internal
