// From a Graph to TensorFlow's nodes.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "export/graph/graph.h"
#include "export/internal/lowering_problem.h"
#include "export/internal/tensorflow/graph_def_builder.h"

namespace belfry::internal {

// What the lowering of single operations works with.
class Lowering {
 public:
  explicit Lowering(const Graph& graph) : graph_(graph) {}

  // All live nodes; problems are gathered, and the rest goes on.
  void run();

  const std::vector<LoweringProblem>& problems() const { return problems_; }
  GraphDefBuilder& out() { return out_; }

  // The tensor of an input of `node`; constants and variables are written when they are first asked for.
  TfTensor input(const GraphNode& node, size_t i);
  TfTensor of(GraphValue value);
  bool has_input(const GraphNode& node, size_t i) const { return i < node.inputs.size(); }
  const GraphType& type(const GraphNode& node, size_t input) const { return graph_.type(node.inputs.at(input)); }
  const GraphType& result_type(const GraphNode& node, size_t output = 0) const {
    return graph_.type(node.outputs.at(output));
  }
  // Null unless the value is known when the model is exported.
  const at::Tensor* literal(const GraphNode& node, size_t input) const { return graph_.literal(node.inputs.at(input)); }
  // Input i with its axes in another order: at once where it is known, so that the graph holds it that way.
  TfTensor permuted(const GraphNode& node, size_t i, const std::vector<int64_t>& permutation);
  // A constant that was made of input i, and keeps its name.
  TfTensor derived(const GraphNode& node, size_t i, const at::Tensor& tensor);

  void set(const GraphNode& node, const TfTensor& tensor, size_t output = 0);

 private:
  void lower(const GraphNode& node);
  std::string name_of(GraphValue value) const;

  const Graph& graph_;
  GraphDefBuilder out_;
  std::unordered_map<int32_t, TfTensor> tensors_;
  std::vector<LoweringProblem> problems_;
};

// Adds the nodes of one operation and sets its outputs; Error(kUnimplemented) says what TensorFlow lacks.
using LowerFunction = void (*)(Lowering& lowering, const GraphNode& node);
using LoweringTable = std::unordered_map<Operation, LowerFunction>;

// One for each family; a new operation is an entry in one of them.
void add_convolution_lowerings(LoweringTable& table);
void add_elementwise_lowerings(LoweringTable& table);
void add_indexing_lowerings(LoweringTable& table);
void add_layer_lowerings(LoweringTable& table);
void add_pooling_lowerings(LoweringTable& table);
void add_recurrent_lowerings(LoweringTable& table);
void add_reduction_lowerings(LoweringTable& table);
void add_shape_lowerings(LoweringTable& table);

}  // namespace belfry::internal
