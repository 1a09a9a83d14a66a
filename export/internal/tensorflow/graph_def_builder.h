// Nodes of a TensorFlow graph.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "belfry/core/saved_model.pb.h"
#include "core/string_dtype.h"
#include "core/string_tensor.h"

namespace belfry::internal {

// An output of a node, as TensorFlow names it: "node", or "node:1" for others than the first. Nodes without an output
// and handles of tables have no dtype that matters.
struct TfTensor {
  std::string name;
  c10::ScalarType dtype = c10::ScalarType::Float;
};

// A node that is being described. Attributes that equal TensorFlow's defaults are left out by the caller.
class TfNode {
 public:
  explicit TfNode(proto::NodeDef& node) : node_(node) {}

  TfNode& input(const TfTensor& tensor);
  TfNode& inputs(const std::vector<TfTensor>& tensors);
  TfNode& type(const char* attribute, c10::ScalarType dtype);
  TfNode& resource(const char* attribute);  // the type of a handle
  TfNode& integer(const char* attribute, int64_t value);
  TfNode& number(const char* attribute, double value);
  TfNode& flag(const char* attribute, bool value);
  TfNode& text(const char* attribute, const std::string& value);
  TfNode& integers(const char* attribute, const std::vector<int64_t>& values);
  TfNode& shape(const char* attribute, const std::vector<int64_t>& value);
  TfNode& numbers(const char* attribute, const at::Tensor& floats);
  TfNode& types(const char* attribute, const std::vector<c10::ScalarType>& dtypes);
  TfNode& shapes(const char* attribute, const std::vector<std::vector<int64_t>>& shapes);
  // Runs behind that node, without reading it.
  TfNode& after(const TfTensor& node);

  TfTensor output(c10::ScalarType dtype, int index = 0) const;

 private:
  proto::AttrValue& attribute(const char* name) { return (*node_.mutable_attr())[name]; }

  proto::NodeDef& node_;
};

// A name that TensorFlow takes for a node: what it does not allow becomes an underscore.
std::string node_name(const std::string& wanted);

// DT_STRING for kString; kUnimplemented for dtypes that TensorFlow does not have.
proto::DataType tensorflow_dtype(c10::ScalarType dtype);
void set_shape(proto::TensorShapeProto& proto, const std::vector<int64_t>& shape);

// A weight that the graph reads from the folder variables/.
struct TfVariable {
  std::string name;
  TfTensor handle;
  TfTensor value;
  at::Tensor tensor;
};

enum class TfWeights { kConstants, kVariables };

class GraphDefBuilder {
 public:
  explicit GraphDefBuilder(TfWeights weights = TfWeights::kConstants) : weights_(weights) {}

  // The folder of the nodes that follow, such as "net/fc1".
  void set_scope(std::string scope) { scope_ = std::move(scope); }

  // A node named after its operation in the current folder, or as wanted; a number is added where that is taken.
  TfNode node(const char* operation);
  TfNode node(const char* operation, const std::string& wanted_name);
  TfTensor placeholder(const std::string& wanted_name, c10::ScalarType dtype, const std::vector<int64_t>& shape);

  // A constant or a variable.
  TfTensor weight(const at::Tensor& tensor, const std::string& wanted_name);
  const std::vector<TfVariable>& variables() const { return variables_; }
  // Small ones without a name are shared.
  TfTensor constant(const at::Tensor& tensor, const std::string& wanted_name = "");
  TfTensor constant(const StringTensor& strings, const std::string& wanted_name = "");
  TfTensor scalar(const at::Scalar& number, c10::ScalarType dtype);
  TfTensor int32s(const std::vector<int64_t>& numbers);
  TfTensor int32(int64_t number);
  TfTensor int64s(const std::vector<int64_t>& numbers);

  // Nodes with the attribute T alone.
  TfTensor unary(const char* operation, const TfTensor& x);
  TfTensor binary(const char* operation, const TfTensor& a, const TfTensor& b);
  TfTensor binary(const char* operation, const TfTensor& a, const at::Scalar& b);

  TfTensor cast(const TfTensor& x, c10::ScalarType dtype);
  // The transposition of a transposition that it undoes is the tensor itself.
  TfTensor transpose(const TfTensor& x, const std::vector<int64_t>& permutation);
  TfTensor swap_axes(const TfTensor& x, int64_t rank, int64_t a, int64_t b);
  TfTensor reshape(const TfTensor& x, const std::vector<int64_t>& shape);
  TfTensor expand_dims(const TfTensor& x, int64_t axis);
  TfTensor squeeze(const TfTensor& x, const std::vector<int64_t>& axes);
  TfTensor shape(const TfTensor& x);               // int64 vector
  TfTensor size(const TfTensor& x, int64_t axis);  // int64 scalar
  // [begin, end) of one axis; `end` 0 for a negative begin is the end.
  TfTensor slice(const TfTensor& x, int64_t rank, int64_t axis, int64_t begin, int64_t end);
  TfTensor pad(const TfTensor& x, const std::vector<int64_t>& before, const std::vector<int64_t>& after,
               const TfTensor& value);
  TfTensor concatenate(const std::vector<TfTensor>& values, int64_t axis);
  std::vector<TfTensor> split(const TfTensor& x, int64_t parts, int64_t axis);
  std::vector<TfTensor> split(const TfTensor& x, int64_t parts, const TfTensor& axis);
  TfTensor pack(const std::vector<TfTensor>& values, int64_t axis);
  TfTensor mean(const TfTensor& x, const std::vector<int64_t>& axes);  // axes are kept
  TfTensor bias_add(const TfTensor& x, const TfTensor& bias);

  // Bytes of all constants.
  int64_t constant_bytes() const { return constant_bytes_; }
  const proto::GraphDef& graph() const { return graph_; }

 private:
  struct Transposed {
    TfTensor source;
    std::vector<int64_t> permutation;
  };

  std::string unique_name(const std::string& wanted);

  const TfWeights weights_;
  proto::GraphDef graph_;
  std::vector<TfVariable> variables_;
  std::string scope_;
  std::unordered_set<std::string> names_;  // in lower case: TensorFlow 2 loads no two that differ in that alone
  std::unordered_map<std::string, int> counts_;
  std::unordered_map<std::string, TfTensor> constants_;
  std::unordered_map<std::string, Transposed> transposed_;
  int64_t constant_bytes_ = 0;
};

}  // namespace belfry::internal
