#include "export/internal/import/constant_values.h"

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>

namespace belfry::internal {
namespace {

namespace jit = torch::jit;

bool writes(const jit::Node& node) {
  const c10::FunctionSchema* schema = node.maybeSchema();
  return schema && schema->is_mutable();
}

bool can_be_run(const jit::Node& node) {
  return node.kind().is_aten() && node.maybeOperator() && node.blocks().empty();
}

// Which of a node's outputs, or of the list that it takes apart, a value is.
std::optional<c10::IValue> element(const c10::IValue& list, size_t index) {
  if (list.isTuple()) return list.toTupleRef().elements().at(index);
  if (list.isList() && index < list.toListRef().size()) return c10::IValue(list.toListRef()[index]);
  return std::nullopt;
}

c10::IValue list_of(const jit::Stack& elements, const c10::Type& type) {
  c10::impl::GenericList list(type.expectRef<c10::ListType>().getElementType());
  for (const c10::IValue& element : elements) list.push_back(element);
  return list;
}

}  // namespace

ConstantValues::ConstantValues(const jit::Graph& graph)
    : has_writes_(
          std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const jit::Node* n) { return writes(*n); })) {}

std::optional<c10::IValue> ConstantValues::of(const jit::Value* value) {
  const auto known = known_.find(value);
  if (known != known_.end()) return known->second;
  const std::optional<c10::IValue> result = computed(value);
  known_.emplace(value, result);
  return result;
}

std::optional<c10::IValue> ConstantValues::computed(const jit::Value* value) {
  const jit::Node& node = *value->node();
  if (node.kind() == c10::prim::Constant) return jit::toIValue(value);
  const bool is_list = node.kind() == c10::prim::ListConstruct;
  const bool is_part = node.kind() == c10::prim::ListUnpack || node.kind() == c10::prim::TupleUnpack;
  if (has_writes_ || node.isNondeterministic() || !(is_list || is_part || can_be_run(node))) return std::nullopt;
  jit::Stack stack;
  for (const jit::Value* input : node.inputs()) {
    const std::optional<c10::IValue> known = of(input);
    if (!known) return std::nullopt;
    stack.push_back(*known);
  }
  if (is_part) return element(stack.at(0), value->offset());
  if (is_list) return list_of(stack, *value->type());
  node.getOperation()(stack);
  return stack.at(value->offset());
}

}  // namespace belfry::internal
