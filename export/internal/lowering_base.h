// What the ways from a Graph to the nodes of a format have in common.
#pragma once

#include <ATen/ATen.h>

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/error.h"
#include "export/graph/graph.h"
#include "export/internal/lowering_problem.h"

namespace belfry::internal {

// `FormatTensor` is a tensor of the format: a name and a dtype.
template <class FormatTensor>
class LoweringBase {
 public:
  virtual ~LoweringBase() = default;

  const std::vector<LoweringProblem>& problems() const { return problems_; }

  bool has_input(const GraphNode& node, size_t i) const { return i < node.inputs.size(); }
  const GraphType& type(const GraphNode& node, size_t input) const { return graph_.type(node.inputs.at(input)); }
  const GraphType& result_type(const GraphNode& node, size_t output = 0) const {
    return graph_.type(node.outputs.at(output));
  }
  // Null unless the value is known when the model is exported.
  const at::Tensor* literal(const GraphNode& node, size_t input) const { return graph_.literal(node.inputs.at(input)); }

  // The tensor of a value; literals are written when they are first asked for.
  FormatTensor of(GraphValue value) {
    const auto found = tensors_.find(value.id);
    return found != tensors_.end() ? found->second : tensors_[value.id] = written(value);
  }
  FormatTensor input(const GraphNode& node, size_t i) { return of(node.inputs.at(i)); }

  // What was made of the literal that is input i: a weight of its name, where it is one. What was made of it before is
  // not written again.
  FormatTensor derived(const GraphNode& node, size_t i, const at::Tensor& tensor) {
    auto& made = derived_[node.inputs.at(i).id];
    for (const auto& [other, tensor_of_other] : made) {
      if (other.scalar_type() == tensor.scalar_type() && at::equal(other, tensor)) return tensor_of_other;
    }
    made.emplace_back(tensor, weight(tensor, name_of(node.inputs[i])));
    return made.back().second;
  }

  // Cast to the dtype that the graph has there.
  void set(const GraphNode& node, const FormatTensor& tensor, size_t output = 0) {
    tensors_[node.outputs.at(output).id] = in_dtype(tensor, result_type(node, output).dtype);
  }

 protected:
  explicit LoweringBase(const Graph& graph) : graph_(graph) {}

  const Graph& graph() const { return graph_; }

  // The work on one node; what goes wrong becomes a problem, and what it leaves out gets a tensor without a name, so
  // that the rest can be tried.
  template <class Work>
  void attempt(const GraphNode& node, const Work& work) {
    try {
      if (node.operation == Operation::kUnsupported) {
        problems_.push_back({node.attributes.text("name"), node.attributes.text("reason"), node.place});
      } else {
        work();
      }
    } catch (const c10::Error& error) {
      problems_.push_back({to_string(node.operation), error.what_without_backtrace(), node.place});
    } catch (const std::exception& error) {
      problems_.push_back({to_string(node.operation), error.what(), node.place});
    }
    for (const GraphValue output : node.outputs) {
      tensors_.try_emplace(output.id, FormatTensor{"", graph_.type(output).dtype});
    }
  }

  // Writes a literal into the format.
  virtual FormatTensor written(GraphValue value) {
    const at::Tensor* tensor = graph_.literal(value);
    if (!tensor) fail(ErrorKind::kInternal, "a value is read before it is made");
    return weight(*tensor, name_of(value));
  }
  // Writes a tensor; one without a name is a constant.
  virtual FormatTensor weight(const at::Tensor& tensor, const std::string& name) = 0;
  virtual FormatTensor in_dtype(const FormatTensor& tensor, c10::ScalarType dtype) = 0;

 private:
  std::string name_of(GraphValue value) const {
    const GraphNode& node = graph_.producer(value);
    return node.operation == Operation::kVariable ? node.attributes.text("name") : "";
  }

  const Graph& graph_;
  std::unordered_map<int32_t, FormatTensor> tensors_;
  std::unordered_map<int32_t, std::vector<std::pair<at::Tensor, FormatTensor>>> derived_;
  std::vector<LoweringProblem> problems_;
};

}  // namespace belfry::internal
