// The form in which a model passes from its trace to the writers of formats.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "../../core/string_dtype.h"
#include "../../core/string_tensor.h"
#include "operation.h"

namespace belfry {

// A tensor of a Graph, by number: the output of a node.
struct GraphValue {
  int32_t id = -1;

  bool defined() const { return id >= 0; }
  friend bool operator==(const GraphValue&, const GraphValue&) = default;
};

// A size that is only known when the graph runs: the batch and what derives from it.
inline constexpr int64_t kFreeSize = -1;

struct GraphType {
  c10::ScalarType dtype = c10::ScalarType::Float;  // kString too
  std::vector<int64_t> shape = {};

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  friend bool operator==(const GraphType&, const GraphType&) = default;
};

// "Float[-1, 3]".
std::string to_string(const GraphType& type);

// What an operation needs besides tensors, by name. The accessors fail with kInternal for a name that is not there or
// has another type: the operation's line in operation.h says what is.
class GraphAttributes {
 public:
  using Attribute = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, at::Tensor, StringTensor>;

  GraphAttributes() = default;
  GraphAttributes(std::initializer_list<std::pair<const std::string, Attribute>> attributes) : values_(attributes) {}

  void set(const std::string& name, Attribute value) { values_.insert_or_assign(name, std::move(value)); }
  bool contains(std::string_view name) const { return values_.find(name) != values_.end(); }

  bool flag(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const std::vector<int64_t>& integers(std::string_view name) const;
  const at::Tensor& tensor(std::string_view name) const;
  const StringTensor& strings(std::string_view name) const;
  const std::map<std::string, Attribute, std::less<>>& all() const { return values_; }

 private:
  std::map<std::string, Attribute, std::less<>> values_;
};

struct GraphNode {
  Operation operation;
  std::vector<GraphValue> inputs = {};
  std::vector<GraphValue> outputs = {};
  GraphAttributes attributes = {};
  std::string place = {};  // of the model: the variable or the module near it; may be empty
};

struct GraphOutput {
  std::string name;
  GraphValue value;
};

// Nodes in an order in which they can run, each value made once. Immutable but for what GraphBuilder does; threads may
// share it.
class Graph {
 public:
  const std::vector<GraphNode>& nodes() const { return nodes_; }
  // The node that makes `value`.
  const GraphNode& producer(GraphValue value) const { return nodes_[values_.at(value.id).producer]; }
  const GraphType& type(GraphValue value) const { return values_.at(value.id).type; }
  const std::vector<GraphOutput>& outputs() const { return outputs_; }
  // Numbers of the nodes that the outputs need, and of all inputs, ascending.
  std::vector<size_t> live_nodes() const;
  // The tensor of a kConstant or kVariable; null for any other value.
  const at::Tensor* literal(GraphValue value) const;

 private:
  friend class GraphBuilder;
  struct ValueEntry {
    GraphType type;
    size_t producer;
  };
  std::vector<GraphNode> nodes_;
  std::vector<ValueEntry> values_;
  std::vector<GraphOutput> outputs_;
};

// A line for each live node: "%5 Float[-1, 3] = linear(%1, %2, %3)  # net/fc1". Tensors are shown by shape.
std::string to_string(const Graph& graph);

}  // namespace belfry
