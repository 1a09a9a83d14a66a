#include "export/torchscript_writer.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>

#include <sstream>
#include <unordered_set>

#include "core/error.h"
#include "export/internal/graph_module.h"
#include "export/internal/receiver_json.h"
#include "export/internal/signature_json.h"
#include "export/name_mangling.h"

namespace belfry {
namespace {

namespace jit = torch::jit;

void check_outputs(const Trace& trace, const TracedSignature& signature) {
  require(!signature.outputs.empty(), "TorchScript: signature '", signature.name, "' has no outputs");
  std::unordered_set<std::string> names;
  for (const auto& output : signature.outputs) {
    require(names.insert(output.name).second, "TorchScript: output '", output.name, "' comes twice in signature '",
            signature.name, "'");
    require(output.index < trace.outputs.size(), "TorchScript: output '", output.name, "' of signature '",
            signature.name, "' is number ", output.index, " of a trace that has ", trace.outputs.size());
  }
}

void check(const Trace& trace, const std::vector<TracedSignature>& signatures) {
  std::unordered_set<std::string> names;
  for (const TracedSignature& signature : signatures) {
    require(names.insert(signature.name).second, "TorchScript: signature '", signature.name, "' comes twice");
    check_outputs(trace, signature);
  }
  require(names.contains(kServingDefault), "TorchScript: there is no signature ", kServingDefault);
}

// TorchScript writes whole storages: a view of a larger buffer would bring all of it along.
at::Tensor own_storage(const at::Tensor& variable) {
  const at::Tensor tensor = variable.detach();
  const bool whole = tensor.storage().nbytes() == static_cast<size_t>(tensor.numel()) * tensor.element_size();
  return whole ? tensor : tensor.clone();
}

void name_inputs(jit::Graph& graph, const std::vector<ServingInput>& inputs) {
  graph.inputs()[0]->setDebugName("self");
  for (size_t i = 0; i < inputs.size(); ++i) graph.inputs()[i + 1]->setDebugName(mangle_name(inputs[i].name));
}

void name_attributes(jit::Graph& graph, const NamedTensors& variables) {
  for (jit::Node* node : graph.nodes()) {
    if (node->kind() != c10::prim::GetAttr) continue;
    const size_t index = std::stoul(node->s(c10::attr::name).substr(1));
    node->s_(c10::attr::name, mangle_name(variables.at(index).first));
  }
}

void forget_tensor_types(jit::Block* block) {
  const auto forget = [](jit::Value* value) {
    if (value->type()->kind() == c10::TypeKind::TensorType) value->setType(c10::TensorType::get());
  };
  for (jit::Value* input : block->inputs()) forget(input);
  for (jit::Node* node : block->nodes()) {
    for (jit::Value* output : node->outputs()) forget(output);
    for (jit::Block* inner : node->blocks()) forget_tensor_types(inner);
  }
}

// Replaces the tuple of all outputs by what the signature returns.
void select_outputs(jit::Graph& graph, const TracedSignature& signature) {
  jit::Node* all = graph.outputs()[0]->node();
  std::vector<jit::Value*> values;
  for (const auto& output : signature.outputs) values.push_back(all->inputs()[output.index]);
  graph.eraseOutput(0);
  if (values.size() == 1) {
    graph.registerOutput(values[0]);
  } else {
    graph.registerOutput(graph.insertNode(graph.createTuple(values))->output());
  }
}

std::shared_ptr<jit::Graph> signature_graph(const Trace& trace, const TracedSignature& signature,
                                            const jit::Module& module) {
  std::shared_ptr<jit::Graph> graph = trace.graph->copy();
  internal::bind(*graph, module);
  name_inputs(*graph, trace.inputs);
  name_attributes(*graph, trace.variables);
  forget_tensor_types(graph->block());  // dtypes and sizes of the trace would bind the file to them
  select_outputs(*graph, signature);
  jit::EliminateDeadCode(graph);
  return graph;
}

void add_method(jit::Module& module, const std::string& name, const std::shared_ptr<jit::Graph>& graph) {
  const c10::QualifiedName qualified(*module.type()->name(), name);
  module.type()->addMethod(module._ivalue()->compilation_unit()->create_function(qualified, graph));
}

// Variables whose names would hide a method's.
void check_method_names(const Trace& trace, const std::vector<TracedSignature>& signatures) {
  for (const TracedSignature& signature : signatures) {
    for (const auto& [name, tensor] : trace.variables) {
      require(mangle_name(name) != internal::method_name(signature), "TorchScript: variable '", name,
              "' has the name of a signature; give the signature another one");
    }
  }
}

jit::Module module_of(const Trace& trace, const std::vector<TracedSignature>& signatures) {
  jit::Module module("BelfryModel");
  module.register_attribute("training", c10::BoolType::get(), false);  // torch.jit.load's eval() looks for it
  for (const auto& [name, tensor] : trace.variables) {
    internal::add_tensor(module, mangle_name(name), own_storage(tensor));
  }
  for (const TracedSignature& signature : signatures) {
    add_method(module, internal::method_name(signature), signature_graph(trace, signature, module));
  }
  return module;
}

}  // namespace

std::string torchscript_bytes(const Trace& trace, const std::vector<TracedSignature>& signatures,
                              const Graph* receiver) {
  check(trace, signatures);
  check_method_names(trace, signatures);
  std::ostringstream out;
  jit::ExtraFilesMap extra{{kSignatureFile, internal::signature_json(trace, signatures)}};
  if (receiver) extra[kReceiverFile] = internal::receiver_json(*receiver);
  module_of(trace, signatures).save(out, extra);
  return std::move(out).str();
}

}  // namespace belfry
