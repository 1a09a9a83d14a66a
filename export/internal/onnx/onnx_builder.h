// Nodes of an ONNX graph, of opset 17.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "belfry/core/onnx.pb.h"

namespace belfry::internal::onnx {

// A value of the graph; without a name, an optional input that is not given.
struct Tensor {
  std::string name;
  c10::ScalarType dtype = c10::ScalarType::Float;
};

// Sizes, or the name of one that is only known when the graph runs.
using Dims = std::vector<std::variant<int64_t, std::string>>;

// A node that is being described.
class Node {
 public:
  explicit Node(proto::onnx::NodeProto& node) : node_(node) {}

  Node& integer(const char* attribute, int64_t value);
  Node& number(const char* attribute, double value);
  Node& text(const char* attribute, const std::string& value);
  Node& texts(const char* attribute, const std::vector<std::string>& values);
  Node& integers(const char* attribute, const std::vector<int64_t>& values);

  Tensor output(c10::ScalarType dtype, int index = 0) const { return {node_.output(index), dtype}; }

 private:
  proto::onnx::AttributeProto& attribute(const char* name, proto::onnx::AttributeProto::AttributeType type);

  proto::onnx::NodeProto& node_;
};

// kUnimplemented for dtypes that ONNX does not have.
proto::onnx::TensorProto::DataType onnx_dtype(c10::ScalarType dtype);

class OnnxBuilder {
 public:
  // The folder of the nodes that follow, such as "net/fc1".
  void set_scope(std::string scope) { scope_ = std::move(scope); }
  // A name that nothing else gets: the wanted one, or with a number where that is taken.
  std::string reserve(const std::string& wanted);
  bool is_reserved(const std::string& name) const { return names_.contains(name); }

  // An input of the graph, under a reserved name.
  Tensor input(const std::string& name, c10::ScalarType dtype, const Dims& dims);
  // An output of the graph with a node of its own, so that it is no input or constant itself; under a reserved name.
  void output(const std::string& name, const Tensor& value, const Dims& dims);

  // The node and its outputs are named after the operation in the current folder.
  Node node(const char* operation, const std::vector<Tensor>& inputs, int outputs = 1);

  // An initializer. Small ones without a name are shared.
  Tensor constant(const at::Tensor& tensor, const std::string& wanted_name = "");
  Tensor scalar(const at::Scalar& number, c10::ScalarType dtype);
  Tensor int64s(const std::vector<int64_t>& numbers);

  Tensor cast(const Tensor& x, c10::ScalarType dtype);
  // Nodes without attributes, computed in kernel_dtype(): the result has the operands' dtype again.
  Tensor unary(const char* operation, const Tensor& x);
  Tensor binary(const char* operation, const Tensor& a, const Tensor& b);
  Tensor binary(const char* operation, const Tensor& a, const at::Scalar& b);
  // Those that give bool.
  Tensor compare(const char* operation, const Tensor& a, const Tensor& b);
  Tensor compare(const char* operation, const Tensor& a, const at::Scalar& b);
  Tensor select(const Tensor& condition, const Tensor& then, const Tensor& otherwise);
  // Of bools.
  Tensor logical(const char* operation, const Tensor& a, const Tensor& b);
  Tensor negated(const Tensor& a);

  // Opset 17 takes the axes of ReduceSum as an input and those of all other reductions as an attribute.
  Tensor reduce(const char* operation, const Tensor& x, const std::vector<int64_t>& axes, bool keep);
  Tensor reshape(const Tensor& x, const std::vector<int64_t>& shape);
  Tensor transpose(const Tensor& x, const std::vector<int64_t>& permutation);
  Tensor squeeze(const Tensor& x, const std::vector<int64_t>& axes);
  Tensor unsqueeze(const Tensor& x, const std::vector<int64_t>& axes);
  Tensor concatenate(const std::vector<Tensor>& values, int64_t axis);
  std::vector<Tensor> split(const Tensor& x, const std::vector<int64_t>& sizes, int64_t axis);
  Tensor shape(const Tensor& x);  // int64 vector
  // `before` and `after` have a number for each axis.
  Tensor pad(const Tensor& x, const std::vector<int64_t>& before, const std::vector<int64_t>& after,
             const Tensor& value);

  // The builder is then empty.
  proto::onnx::GraphProto release() { return std::move(graph_); }

 private:
  Tensor initializer(const at::Tensor& tensor, std::string_view bytes, const std::string& wanted_name);

  proto::onnx::GraphProto graph_;
  std::string scope_;
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, int> counts_;
  std::unordered_map<std::string, Tensor> constants_;
};

}  // namespace belfry::internal::onnx
