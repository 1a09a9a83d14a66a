// One operation of a Graph for given inputs, by what kind of operation it is. graph_evaluator.h tells the kinds apart.
// Each fails for an operation of another kind.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "export/graph/graph.h"

namespace belfry::testing {

// The input of that number, where the node has so many.
inline std::optional<at::Tensor> optional_input(const std::vector<at::Tensor>& inputs, size_t i) {
  return i < inputs.size() ? std::optional(inputs[i]) : std::nullopt;
}

at::Tensor evaluate_unary(Operation operation, const at::Tensor& x);
at::Tensor evaluate_binary(Operation operation, const at::Tensor& a, const at::Tensor& b);
at::Tensor evaluate_reduction(const GraphNode& node, const at::Tensor& x);
at::Tensor evaluate_along_axis(const GraphNode& node, const at::Tensor& x);
// Values and their places, of equal values the first, which at::topk does not promise.
std::vector<at::Tensor> evaluate_top_k(const GraphNode& node, const at::Tensor& x, int64_t k);
at::Tensor evaluate_shape(const GraphNode& node, const std::vector<at::Tensor>& in);
at::Tensor evaluate_indexing(const GraphNode& node, const std::vector<at::Tensor>& in);
at::Tensor evaluate_layer(const GraphNode& node, const std::vector<at::Tensor>& in);
std::vector<at::Tensor> evaluate_recurrent(const GraphNode& node, const std::vector<at::Tensor>& in);

}  // namespace belfry::testing
