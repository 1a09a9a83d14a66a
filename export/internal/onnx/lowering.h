// From a Graph to ONNX's nodes.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "export/graph/graph.h"
#include "export/internal/lowering_base.h"
#include "export/internal/onnx/onnx_builder.h"

namespace belfry::internal::onnx {

// What the lowering of single operations works with.
class Lowering : public LoweringBase<Tensor> {
 public:
  explicit Lowering(const Graph& graph) : LoweringBase(graph) {}

  // The graph's inputs under their own names; first of all, so that nothing else gets them.
  void add_inputs();
  // All live nodes in their order, which is one in which they can run; problems are gathered, and the rest goes on.
  void run();

  OnnxBuilder& out() { return out_; }

  using LoweringBase::input;
  std::vector<Tensor> inputs(const GraphNode& node);
  // In another dtype: at once where the input is known, so that the model holds it that way.
  Tensor input(const GraphNode& node, size_t i, c10::ScalarType dtype);
  std::vector<Tensor> inputs(const GraphNode& node, c10::ScalarType dtype);
  // A scalar input as a vector of one.
  Tensor as_vector(const GraphNode& node, size_t i);

 protected:
  Tensor weight(const at::Tensor& tensor, const std::string& name) override { return out_.constant(tensor, name); }
  Tensor in_dtype(const Tensor& tensor, c10::ScalarType dtype) override { return out_.cast(tensor, dtype); }

 private:
  void lower(const GraphNode& node);

  OnnxBuilder out_;
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
