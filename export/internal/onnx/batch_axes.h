// Which sizes of a graph follow the number of rows.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "export/graph/graph.h"
#include "export/internal/onnx/onnx_builder.h"

namespace belfry::internal::onnx {

// Follows the batch from the inputs through the operations. Of a free size that is not found to be a multiple of the
// rows nothing is known: it may still be one.
class BatchAxes {
 public:
  // For each axis, how many times the batch it is; 0 when it is not free or nothing is known.
  using Multiples = std::vector<int64_t>;

  explicit BatchAxes(const Graph& graph);

  const Multiples& of(GraphValue value) const { return axes_.at(value.id); }

 private:
  Multiples follow(const GraphNode& node, size_t output) const;
  Multiples follow_axis(const GraphNode& node) const;
  Multiples follow_view(const GraphNode& node) const;
  Multiples follow_shape(const GraphNode& node) const;
  Multiples follow_indexing(const GraphNode& node) const;
  Multiples follow_layer(const GraphNode& node, size_t output) const;
  Multiples follow_einsum(const GraphNode& node) const;
  // Of operands that are broadcast against each other, but for the last `apart` axes of each.
  Multiples broadcast(const GraphNode& node, int64_t apart) const;
  Multiples matmul(const GraphNode& node) const;
  int64_t inferred(const GraphNode& reshape) const;
  // How many times the batch an int64 scalar is; 0 when nothing is known.
  int64_t scalar(GraphValue value) const;

  const Graph& graph_;
  std::unordered_map<int32_t, Multiples> axes_;
};

// Sizes as ONNX has them: a number, "batch" for what is the batch once, or a name of its own.
Dims dims_of(const GraphType& type, const BatchAxes::Multiples& multiples, const std::string& name);

}  // namespace belfry::internal::onnx
