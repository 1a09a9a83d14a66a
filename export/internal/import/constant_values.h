// Values of a traced graph that are the same in every call: masks, positions, tables of indices.
#pragma once

#include <ATen/core/ivalue.h>

#include <optional>
#include <unordered_map>

namespace torch::jit {
struct Graph;
struct Value;
}  // namespace torch::jit

namespace belfry::internal {

// Computes them when asked, by LibTorch itself, so that no operation has to be known for them. Refers to the graph.
class ConstantValues {
 public:
  explicit ConstantValues(const torch::jit::Graph& graph);

  // None for what hangs on inputs, variables or random numbers, and for all values of a graph that writes into tensors.
  std::optional<c10::IValue> of(const torch::jit::Value* value);

 private:
  std::optional<c10::IValue> computed(const torch::jit::Value* value);

  bool has_writes_ = false;
  std::unordered_map<const torch::jit::Value*, std::optional<c10::IValue>> known_ = {};
};

}  // namespace belfry::internal
