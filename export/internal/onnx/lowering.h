// From a Graph to ONNX's nodes.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "export/graph/graph.h"
#include "export/internal/lowering_problem.h"
#include "export/internal/onnx/onnx_builder.h"

namespace belfry::internal::onnx {

// What the lowering of single operations works with.
class Lowering {
 public:
  explicit Lowering(const Graph& graph) : graph_(graph) {}

  // The graph's inputs under their own names; first of all, so that nothing else gets them.
  void add_inputs();
  // All live nodes in their order, which is one in which they can run; problems are gathered, and the rest goes on.
  void run();

  const std::vector<LoweringProblem>& problems() const { return problems_; }
  OnnxBuilder& out() { return out_; }

  // The tensor of an input of `node`; constants and variables are written when they are first asked for.
  Tensor input(const GraphNode& node, size_t i);
  std::vector<Tensor> inputs(const GraphNode& node);
  // In another dtype: at once where the input is known, so that the model holds it that way.
  Tensor input(const GraphNode& node, size_t i, c10::ScalarType dtype);
  std::vector<Tensor> inputs(const GraphNode& node, c10::ScalarType dtype);
  Tensor of(GraphValue value);
  bool has_input(const GraphNode& node, size_t i) const { return i < node.inputs.size(); }
  const GraphType& type(const GraphNode& node, size_t input) const { return graph_.type(node.inputs.at(input)); }
  const GraphType& result_type(const GraphNode& node, size_t output = 0) const {
    return graph_.type(node.outputs.at(output));
  }
  // Null unless the value is known when the model is exported.
  const at::Tensor* literal(const GraphNode& node, size_t input) const { return graph_.literal(node.inputs.at(input)); }
  // A constant that was made of input i, and keeps its name. What was made of it before is not written again.
  Tensor derived(const GraphNode& node, size_t i, const at::Tensor& tensor);
  // A scalar input as a vector of one.
  Tensor as_vector(const GraphNode& node, size_t i);

  // Cast to the dtype that the graph has there.
  void set(const GraphNode& node, const Tensor& tensor, size_t output = 0);

 private:
  // Runs a part of the work on `node`; what goes wrong becomes a problem.
  template <class Part>
  void guarded(const GraphNode& node, const Part& part);
  void lower(const GraphNode& node);
  std::string name_of(GraphValue value) const;

  const Graph& graph_;
  OnnxBuilder out_;
  std::unordered_map<int32_t, Tensor> tensors_;
  std::unordered_map<int32_t, std::vector<std::pair<at::Tensor, Tensor>>> derived_;
  std::vector<LoweringProblem> problems_;
};

// Adds the nodes of one operation and sets its outputs; Error(kUnimplemented) says what ONNX lacks.
using LowerFunction = void (*)(Lowering& lowering, const GraphNode& node);
using LoweringTable = std::unordered_map<Operation, LowerFunction>;

// One for each family; a new operation is an entry in one of them.
void add_bitwise_lowerings(LoweringTable& table);
void add_composed_lowerings(LoweringTable& table);
void add_convolution_lowerings(LoweringTable& table);
void add_elementwise_lowerings(LoweringTable& table);
void add_indexing_lowerings(LoweringTable& table);
void add_layer_lowerings(LoweringTable& table);
void add_pooling_lowerings(LoweringTable& table);
void add_recurrent_lowerings(LoweringTable& table);
void add_reduction_lowerings(LoweringTable& table);
void add_shape_lowerings(LoweringTable& table);

}  // namespace belfry::internal::onnx
