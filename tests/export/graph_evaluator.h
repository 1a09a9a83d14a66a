// Runs a Graph with LibTorch's own operations, without any format in between.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "core/tensor_dict.h"
#include "export/graph/graph.h"

namespace belfry::testing {

// What one node gives for its inputs. Fails for kUnsupported. Each operation is computed as operation.h describes it,
// and not as the importer or a format spells it.
std::vector<at::Tensor> evaluate_node(const GraphNode& node, const std::vector<at::Tensor>& inputs);

// The outputs of the graph for inputs by name. Fails when a value has another dtype, rank or known size than its type
// says.
TensorDict evaluate(const Graph& graph, const TensorDict& inputs);

}  // namespace belfry::testing
