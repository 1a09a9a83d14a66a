// From a Graph to TensorFlow's nodes.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "export/graph/graph.h"
#include "export/internal/lowering_problem.h"
#include "export/internal/tensorflow/graph_def_builder.h"

namespace belfry::internal {

struct TfAsset {
  std::string name;
  std::string bytes;
  TfTensor path;
};

// What the lowering of single operations works with.
class Lowering {
 public:
  explicit Lowering(const Graph& graph, TfWeights weights = TfWeights::kConstants) : graph_(graph), out_(weights) {}

  // All live nodes; problems are gathered, and the rest goes on.
  void run();

  const std::vector<LoweringProblem>& problems() const { return problems_; }
  GraphDefBuilder& out() { return out_; }

  // The tensor of an input of `node`; literals are written when they are first asked for.
  TfTensor input(const GraphNode& node, size_t i);
  // In the dtype in which TensorFlow has a kernel of that operation.
  TfTensor kernel_input(const GraphNode& node, size_t i, const char* operation);
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
  // What was made of the literal that is input i: a weight of its name, where it is one. What was made of it before is
  // not written again.
  TfTensor derived(const GraphNode& node, size_t i, const at::Tensor& tensor);

  // Cast to the dtype that the graph has there.
  void set(const GraphNode& node, const TfTensor& tensor, size_t output = 0);

  // A file of the export's folder assets/, as the tensor of its path. One of equal name and content is the same file;
  // an equal name with other content gets a number.
  TfTensor asset(const std::string& name, const std::string& bytes);
  const std::vector<TfAsset>& assets() const { return assets_; }
  // What has to run before the first request.
  void initialize_by(const TfTensor& node) { initializers_.push_back(node); }
  const std::vector<TfTensor>& initializers() const { return initializers_; }

 private:
  void lower(const GraphNode& node);
  std::string name_of(GraphValue value) const;

  const Graph& graph_;
  GraphDefBuilder out_;
  std::unordered_map<int32_t, TfTensor> tensors_;
  std::unordered_map<int32_t, std::vector<std::pair<at::Tensor, TfTensor>>> derived_;
  std::vector<LoweringProblem> problems_;
  std::vector<TfAsset> assets_;
  std::vector<TfTensor> initializers_;
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
void add_string_lowerings(LoweringTable& table);

}  // namespace belfry::internal
