#include "export/internal/onnx/metadata.h"

#include "export/internal/attribute_json.h"

namespace belfry::internal::onnx {
namespace {

Json described(const std::string& name, const GraphType& type) {
  return {{"name", name}, {"dtype", c10::getDtypeNames(type.dtype).first}, {"shape", type.shape}};
}

Json inputs_json(const Graph& graph) {
  Json inputs = Json::array();
  for (const GraphNode& node : graph.nodes()) {
    if (node.operation != Operation::kInput) continue;
    inputs.push_back(described(node.attributes.text("name"), graph.type(node.outputs[0])));
  }
  return inputs;
}

Json outputs_json(const Graph& graph, const TracedSignature& signature, const std::vector<std::string>& names) {
  Json outputs = Json::array();
  for (size_t i = 0; i < signature.outputs.size(); ++i) {
    const auto& [name, index, vocabulary] = signature.outputs[i];
    Json output = described(name, graph.type(graph.outputs().at(index).value));
    output["output"] = names.at(i);
    if (!vocabulary.empty()) output["vocabulary"] = texts_json(vocabulary);
    outputs.push_back(std::move(output));
  }
  return outputs;
}

}  // namespace

std::string signatures_json(const Graph& graph, const std::vector<TracedSignature>& signatures,
                            const std::vector<std::vector<std::string>>& outputs) {
  Json all = Json::object();
  for (size_t s = 0; s < signatures.size(); ++s) {
    const TracedSignature& signature = signatures[s];
    Json one = {{"kind", to_string(signature.kind)},
                {"inputs", inputs_json(graph)},
                {"outputs", outputs_json(graph, signature, outputs.at(s))}};
    if (!signature.class_names.empty()) one["class_names"] = texts_json(signature.class_names);
    all[signature.name] = std::move(one);
  }
  return all.dump();
}

}  // namespace belfry::internal::onnx
