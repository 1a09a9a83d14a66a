// Words about nodes of a traced graph, for error messages.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <string>
#include <unordered_map>

namespace belfry::internal {

// Attribute name in the graph to the variable's own name.
using VariableNames = std::unordered_map<std::string, std::string>;

// "aten::linear, near variable 'net/fc1/weight'": the C++ tracer records neither lines nor modules, so the place is
// told by the variable that an operation at or around the node reads.
std::string node_text(const torch::jit::Node* node, const VariableNames& variables);

// The variable that the node itself reads, or else the one that the operation closest to it reads; may be empty.
std::string nearest_variable(const torch::jit::Node* node, const VariableNames& variables);

// The first operation that uses `value`, looking through lists; null when there is none.
const torch::jit::Node* first_user(const torch::jit::Value* value);

}  // namespace belfry::internal
