// Writes of a traced graph that a graph without memory can express.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <unordered_set>

namespace belfry::internal {

// Operations that write into a tensor which is read again under another name, such as y = x.view(...); x.add_(1): what
// is read then has changed, which a graph of values does not show. The pieces of one split count as apart.
std::unordered_set<const torch::jit::Node*> find_shared_writes(const torch::jit::Graph& graph);

}  // namespace belfry::internal
