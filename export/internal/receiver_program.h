// Does the work of a receiver: from the tensors of a request to the features of the model.
#pragma once

#include <memory>
#include <vector>

#include "core/tensor_dict.h"
#include "export/internal/receiver_node.h"

namespace belfry::internal {

// Immutable; threads may share it.
class ReceiverProgram {
 public:
  // kUnimplemented for an operation that a receiver cannot have.
  explicit ReceiverProgram(Graph graph);

  const Graph& graph() const { return *graph_; }
  // The graph's outputs by name. kNotFound, with the names there are, for an input that is not given; kInvalidArgument
  // for one of another dtype or shape, and for what an operation refuses. Any number of rows.
  TensorDict run(const TensorDict& inputs) const;

 private:
  std::unique_ptr<const Graph> graph_;
  std::vector<ReceiverNode> nodes_;  // in an order in which they can run
};

// Whether the dtype, the rank and the known sizes are those of the type.
bool is_of_type(const Value& value, const GraphType& type);
// kInvalidArgument, with `name`, when it is not of that type.
void check_value(const std::string& name, const Value& value, const GraphType& type);

}  // namespace belfry::internal
