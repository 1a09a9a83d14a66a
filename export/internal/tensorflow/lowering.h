// From a Graph to TensorFlow's nodes.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "export/graph/graph.h"
#include "export/internal/lowering_base.h"
#include "export/internal/tensorflow/graph_def_builder.h"

namespace belfry::internal {

struct TfAsset {
  std::string name;
  std::string bytes;
  TfTensor path;
};

// What the lowering of single operations works with.
class Lowering : public LoweringBase<TfTensor> {
 public:
  explicit Lowering(const Graph& graph, TfWeights weights = TfWeights::kConstants)
      : LoweringBase(graph), out_(weights) {}

  // All live nodes; problems are gathered, and the rest goes on.
  void run();

  GraphDefBuilder& out() { return out_; }

  // In the dtype in which TensorFlow has a kernel of that operation.
  TfTensor kernel_input(const GraphNode& node, size_t i, const char* operation);
  // Input i with its axes in another order: at once where it is known, so that the graph holds it that way.
  TfTensor permuted(const GraphNode& node, size_t i, const std::vector<int64_t>& permutation);
  // A file of the export's folder assets/, as the tensor of its path. One of equal name and content is the same file;
  // an equal name with other content gets a number.
  TfTensor asset(const std::string& name, const std::string& bytes);
  const std::vector<TfAsset>& assets() const { return assets_; }
  // What has to run before the first request.
  void initialize_by(const TfTensor& node) { initializers_.push_back(node); }
  const std::vector<TfTensor>& initializers() const { return initializers_; }

 protected:
  TfTensor written(GraphValue value) override;
  TfTensor weight(const at::Tensor& tensor, const std::string& name) override { return out_.weight(tensor, name); }
  TfTensor in_dtype(const TfTensor& tensor, c10::ScalarType dtype) override { return out_.cast(tensor, dtype); }

 private:
  void lower(const GraphNode& node);

  GraphDefBuilder out_;
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
