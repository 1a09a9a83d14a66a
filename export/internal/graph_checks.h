// What a traced graph must not hold.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <memory>
#include <string>
#include <vector>

#include "export/internal/graph_text.h"

namespace belfry::internal {

// kFailedPrecondition, with every such operation, for random numbers and for modules in training mode.
void refuse_training_and_random(torch::jit::Graph& graph, const VariableNames& variables);

// kUnimplemented, with every such operation, for memory that the graph makes and never fills: at::tensor, which fills
// it past the trace.
void refuse_unset_memory(const std::shared_ptr<torch::jit::Graph>& graph, const VariableNames& variables);

// The operations that write into a tensor, as node_text().
std::vector<std::string> list_writes(torch::jit::Graph& graph, const VariableNames& variables);

}  // namespace belfry::internal
