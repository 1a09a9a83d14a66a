#include "export/internal/import/import_graph.h"

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <optional>
#include <unordered_map>

#include "core/error.h"
#include "export/internal/graph_text.h"
#include "export/internal/import/constant_values.h"
#include "export/internal/import/import_table.h"
#include "export/internal/import/in_place.h"

namespace belfry::internal {
namespace {

namespace jit = torch::jit;

// Of a value that is a tensor with known dtype and rank.
std::optional<GraphType> traced_type(const jit::Value* value) {
  const auto type = value->type()->cast<c10::TensorType>();
  if (!type || !type->scalarType() || !type->sizes().size()) return std::nullopt;
  GraphType traced{*type->scalarType(), {}};
  for (size_t axis = 0; axis < *type->sizes().size(); ++axis) {
    traced.shape.push_back(type->sizes()[axis].value_or(kFreeSize));
  }
  return traced;
}

using ItemMap = std::unordered_map<const jit::Value*, Item>;

class Importer {
 public:
  Importer(const Trace& trace, GraphBuilder& builder)
      : trace_(trace), shared_writes_(find_shared_writes(*trace.graph)), constants_(*trace.graph), builder_(builder) {
    for (size_t i = 0; i < trace.variables.size(); ++i) names_[concat("v", i)] = trace.variables[i].first;
  }

  std::vector<GraphOutput> run(const std::vector<GraphValue>& inputs) {
    for (size_t i = 0; i < trace_.inputs.size(); ++i) items_[trace_.graph->inputs()[i + 1]] = inputs.at(i);
    for (const jit::Node* node : trace_.graph->nodes()) add_node(*node);
    const jit::Node* all = trace_.graph->outputs()[0]->node();
    std::vector<GraphOutput> outputs;
    for (size_t i = 0; i < trace_.outputs.size(); ++i) {
      outputs.push_back({trace_.outputs[i].name, output_value(all->inputs()[i], trace_.outputs[i])});
    }
    builder_.set_place("");
    return outputs;
  }

 private:
  // A value with the dtype and rank that the trace promises, so that what follows can be imported all the same.
  GraphValue output_value(const jit::Value* value, const TracedOutput& output) {
    const auto* known = items_[value].get<GraphValue>();
    return known ? *known : unsupported("an output", "it is no tensor", {output.dtype, output.shape}, {});
  }

  void add_node(const jit::Node& node) {
    builder_.set_place(place_of(node));
    switch (node.kind()) {
      case c10::prim::Constant:
        items_[node.output()] = constant(node);
        return;
      case c10::prim::GetAttr:
        items_[node.output()] = variable(node);
        return;
      case c10::prim::ListConstruct:
      case c10::prim::TupleConstruct:
        items_[node.output()] = list(node);
        return;
      case c10::prim::ListUnpack:
      case c10::prim::TupleUnpack:
        unpack(node, items_.at(node.input()));
        return;
      default:
        add_call(node);
    }
  }

  std::string place_of(const jit::Node& node) const {
    if (node.kind() == c10::prim::GetAttr || node.kind() == c10::prim::Constant) return "";
    return nearest_variable(&node, names_);
  }

  Item constant(const jit::Node& node) {
    const auto value = jit::toIValue(node.output());
    return value ? item_of(*value) : Item();
  }

  Item item_of(const c10::IValue& value) {
    if (value.isTensor()) return builder_.constant(value.toTensor());
    if (value.isBool()) return value.toBool();
    if (value.isInt()) return value.toInt();
    if (value.isDouble()) return value.toDouble();
    if (value.isString()) return value.toStringRef();
    if (value.isIntList()) return list_of(value.toIntVector());
    if (value.isDoubleList()) return list_of(value.toDoubleVector());
    if (!value.isTensorList()) return {};  // none, devices, layouts, generators: nothing that a format holds
    std::vector<GraphValue> tensors;
    for (const at::Tensor& tensor : value.toTensorVector()) tensors.push_back(builder_.constant(tensor));
    return tensors;
  }

  template <class T>
  static Item list_of(const std::vector<T>& values) {
    return Item::List(values.begin(), values.end());
  }

  Item variable(const jit::Node& node) {
    const size_t index = std::stoul(node.s(c10::attr::name).substr(1));
    const auto& [name, tensor] = trace_.variables.at(index);
    return builder_.variable(name, tensor);
  }

  Item list(const jit::Node& node) const {
    Item::List elements;
    for (const jit::Value* input : node.inputs()) elements.push_back(items_.at(input));
    return elements;
  }

  void unpack(const jit::Node& node, const Item& item) {
    const auto* elements = item.get<Item::List>();
    const bool fits = elements && elements->size() == node.outputs().size();
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      items_[node.outputs()[i]] = fits ? (*elements)[i] : unsupported_item(node, node.outputs()[i], "its parts");
    }
  }

  void add_call(const jit::Node& node) {
    std::string why;
    try {
      assign(node, call(node));
      return;
    } catch (const c10::Error& error) {
      why = error.what_without_backtrace();
    } catch (const std::exception& error) {
      why = error.what();
    }
    if (assign_constants(node)) return;
    for (const jit::Value* output : node.outputs()) items_[output] = unsupported_item(node, output, why);
    const auto shared = shared_writes_.find(&node);
    if (shared == shared_writes_.end()) return;
    for (const jit::Value* changed : shared->second) items_[changed] = unsupported_item(node, changed, why);
  }

  // What no operation computes can still be known: triu_indices, linspace.
  bool assign_constants(const jit::Node& node) {
    std::vector<c10::IValue> values;
    try {
      for (const jit::Value* output : node.outputs()) {
        const auto value = constants_.of(output);
        if (!value) return false;
        values.push_back(*value);
      }
    } catch (const std::exception&) {
      return false;  // then the first reason stands
    }
    for (size_t i = 0; i < values.size(); ++i) items_[node.outputs()[i]] = item_of(values[i]);
    return true;
  }

  Item call(const jit::Node& node) {
    if (!node.kind().is_aten()) refuse_call("it is not an operation of LibTorch's own");
    if (shared_writes_.contains(&node)) {
      refuse_call("it writes into a tensor that is read under another name behind it");
    }
    std::string name = node.kind().toUnqualString();
    if (name.size() > 2 && name.ends_with('_') && !name.ends_with("__")) name.pop_back();
    const auto found = import_table().find(name);
    if (found == import_table().end()) refuse_call("no operation of the exported graph computes it");
    const TracedCall traced = traced_call(node);
    Call call(builder_, traced);
    return found->second(call);
  }

  TracedCall traced_call(const jit::Node& node) const {
    TracedCall traced;
    const auto& arguments = node.schema().arguments();
    for (size_t i = 0; i < arguments.size() && i < node.inputs().size(); ++i) {
      traced.arguments.emplace_back(arguments[i].name(), items_.at(node.inputs()[i]));
    }
    for (const jit::Value* output : node.outputs()) {
      const bool is_tensor = output->type()->kind() == c10::TypeKind::TensorType;
      traced.outputs.push_back({traced_type(output), is_tensor, output->hasUses()});
    }
    return traced;
  }

  void assign(const jit::Node& node, const Item& result) {
    if (node.outputs().size() == 1) {
      check(node.output(), result);
      items_[node.output()] = result;
      return;
    }
    const auto* elements = result.get<Item::List>();
    if (!elements || elements->size() != node.outputs().size()) {
      fail(ErrorKind::kInternal, "its import has another number of outputs");
    }
    for (size_t i = 0; i < elements->size(); ++i) check(node.outputs()[i], (*elements)[i]);
    for (size_t i = 0; i < elements->size(); ++i) items_[node.outputs()[i]] = (*elements)[i];
  }

  // The trace knows what LibTorch computed: an import that says otherwise is wrong.
  void check(const jit::Value* traced, const Item& item) {
    const auto known = traced_type(traced);
    const auto* value = item.get<GraphValue>();
    if (known && value) builder_.refine(*value, *known);
  }

  // It reads what the node reads, so that what is wrong before it is found as well.
  Item unsupported_item(const jit::Node& node, const jit::Value* output, const std::string& why) {
    std::vector<GraphValue> inputs;
    for (const jit::Value* input : node.inputs()) append_values(items_.at(input), inputs);
    const GraphType type = traced_type(output).value_or(GraphType{at::kFloat, {}});
    return unsupported(node.kind().toQualString(), why, type, inputs);
  }

  static void append_values(const Item& item, std::vector<GraphValue>& values) {
    if (const auto* value = item.get<GraphValue>()) values.push_back(*value);
    if (const auto* list = item.get<Item::List>()) {
      for (const Item& element : *list) append_values(element, values);
    }
  }

  GraphValue unsupported(const std::string& name, const std::string& why, const GraphType& type,
                         const std::vector<GraphValue>& inputs) {
    return builder_.node(Operation::kUnsupported, inputs, {{"name", name}, {"reason", why}}, {type})[0];
  }

  const Trace& trace_;
  const SharedWrites shared_writes_;
  ConstantValues constants_;
  VariableNames names_;
  GraphBuilder& builder_;
  ItemMap items_;
};

}  // namespace

std::vector<GraphOutput> import_graph(const Trace& trace, GraphBuilder& graph, const std::vector<GraphValue>& inputs) {
  return Importer(trace, graph).run(inputs);
}

Graph import_graph(const Trace& trace) {
  GraphBuilder graph;
  std::vector<GraphValue> inputs;
  for (const ServingInput& input : trace.inputs) {
    inputs.push_back(graph.input(input.name, {input.spec.dtype, input.spec.shape}));
  }
  std::vector<GraphOutput> outputs = import_graph(trace, graph, inputs);
  return graph.build(std::move(outputs));
}

}  // namespace belfry::internal
