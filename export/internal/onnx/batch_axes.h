// Which sizes of a graph are the number of rows.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "export/graph/graph.h"
#include "export/internal/onnx/onnx_builder.h"

namespace belfry::internal::onnx {

// Follows the batch from the inputs through the operations. A free size that is not known to be the batch may still be
// it: what is said of it has to hold for any size.
class BatchAxes {
 public:
  explicit BatchAxes(const Graph& graph);

  // One for each axis.
  const std::vector<bool>& of(GraphValue value) const { return axes_.at(value.id); }

 private:
  using Axes = std::vector<bool>;

  Axes follow(const GraphNode& node) const;
  Axes follow_axis(const GraphNode& node) const;
  Axes follow_shape(const GraphNode& node) const;
  // Axes of operands that are broadcast against each other, but for the last `apart` ones.
  Axes broadcast(const std::vector<GraphValue>& operands, const GraphType& result, int64_t apart) const;
  bool is_inferred_batch(const GraphNode& reshape) const;
  bool is_batch_size(GraphValue scalar) const;

  const Graph& graph_;
  std::unordered_map<int32_t, Axes> axes_;
};

// Sizes as ONNX has them: "batch", a number, or a name of its own.
Dims dims_of(const GraphType& type, const std::vector<bool>& batch_axes, const std::string& name);

}  // namespace belfry::internal::onnx
