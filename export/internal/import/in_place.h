// Writes of a traced graph that a graph without memory can express.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <unordered_map>
#include <vector>

namespace belfry::internal {

// Operations that write into a tensor which is read again under another name, such as y = x.view(...); x.add_(1), each
// with those other names: what is read there has changed, which a graph of values does not show. The pieces of one
// split count as apart.
using SharedWrites = std::unordered_map<const torch::jit::Node*, std::vector<const torch::jit::Value*>>;
SharedWrites find_shared_writes(const torch::jit::Graph& graph);

}  // namespace belfry::internal
