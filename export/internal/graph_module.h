// The module whose attributes a traced graph reads.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <string>

namespace belfry::internal {

// Floating point and complex tensors become parameters, all others buffers. The tensor itself is kept, not a copy.
void add_tensor(torch::jit::Module& module, const std::string& attribute, const at::Tensor& tensor);

// Makes `module` the type of the graph's first input, whose attributes then are those of the module.
void bind(torch::jit::Graph& graph, const torch::jit::Module& module);

}  // namespace belfry::internal
