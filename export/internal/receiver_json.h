// The work of a receiver as text, which lies inside a TorchScript file and tells what its inputs are made of.
#pragma once

#include <string>

#include "export/graph/graph.h"

namespace belfry::internal {

// {"format": 1, "nodes": [{"operation", "inputs": [value], "outputs": [{"dtype", "shape"}], "attributes": {name:
// ...}}], "outputs": [{"name", "value"}]}: values are numbered in the order of the outputs of the nodes, and nodes read
// those before them. Attributes are {"integer"}, {"number"}, {"flag"}, {"text"}, {"integers"}, {"strings", "shape"} or
// {"dtype", "shape", "bytes"}; texts that are no UTF-8, and the bytes of tensors, are written as {"hex"}.
std::string receiver_json(const Graph& graph);

// kDataLoss, with what is wrong, for text that receiver_json() did not write.
Graph receiver_from_json(const std::string& text);

}  // namespace belfry::internal
