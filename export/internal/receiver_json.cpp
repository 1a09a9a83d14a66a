#include "export/internal/receiver_json.h"

#include <unordered_map>

#include "core/error.h"
#include "export/graph/graph_builder.h"
#include "export/internal/attribute_json.h"
#include "export/internal/rebuild_node.h"

namespace belfry::internal {
namespace {

constexpr int kFormat = 1;

Json type_json(const GraphType& type) { return {{"dtype", dtype_key(type.dtype)}, {"shape", type.shape}}; }

class Writer {
 public:
  explicit Writer(const Graph& graph) : graph_(graph) {}

  Json write() {
    Json nodes = Json::array();
    for (const size_t number : graph_.live_nodes()) nodes.push_back(node_json(graph_.nodes()[number]));
    Json outputs = Json::array();
    for (const GraphOutput& output : graph_.outputs()) {
      outputs.push_back({{"name", text_json(output.name)}, {"value", numbers_.at(output.value.id)}});
    }
    return {{"format", kFormat}, {"nodes", std::move(nodes)}, {"outputs", std::move(outputs)}};
  }

 private:
  Json node_json(const GraphNode& node) {
    Json inputs = Json::array();
    for (const GraphValue input : node.inputs) inputs.push_back(numbers_.at(input.id));
    Json outputs = Json::array();
    for (const GraphValue output : node.outputs) {
      numbers_.emplace(output.id, numbers_.size());
      outputs.push_back(type_json(graph_.type(output)));
    }
    Json attributes = Json::object();
    for (const auto& [name, value] : node.attributes.all()) attributes[name] = attribute_json(value);
    return {{"operation", to_string(node.operation)},
            {"inputs", std::move(inputs)},
            {"outputs", std::move(outputs)},
            {"attributes", std::move(attributes)}};
  }

  const Graph& graph_;
  std::unordered_map<int32_t, size_t> numbers_;
};

class Reader {
 public:
  Graph read(const Json& json) {
    if (json.at("format") != kFormat) fail(ErrorKind::kDataLoss, "format ", json.at("format").dump());
    for (const Json& node : json.at("nodes")) read_node(node);
    std::vector<GraphOutput> outputs;
    for (const Json& output : json.at("outputs")) {
      outputs.push_back({text_from_json(output.at("name")), value(output.at("value"))});
    }
    return builder_.build(std::move(outputs));
  }

 private:
  GraphValue value(const Json& number) const { return values_.at(number.get<size_t>()); }

  void read_node(const Json& json) {
    const std::string name = json.at("operation");
    const auto operation = operation_of(name);
    if (!operation) fail(ErrorKind::kDataLoss, "there is no operation '", name, "'");
    std::vector<GraphValue> inputs;
    for (const Json& input : json.at("inputs")) inputs.push_back(value(input));
    std::vector<GraphType> types;
    for (const Json& type : json.at("outputs")) types.push_back({dtype_of(type.at("dtype")), type.at("shape")});
    GraphAttributes attributes;
    for (const auto& [key, attribute] : json.at("attributes").items()) {
      attributes.set(key, attribute_from_json(attribute));
    }
    for (const GraphValue output : rebuild_node(builder_, *operation, inputs, attributes, types)) {
      values_.push_back(output);
    }
  }

  GraphBuilder builder_;
  std::vector<GraphValue> values_;
};

}  // namespace

std::string receiver_json(const Graph& graph) { return Writer(graph).write().dump() + "\n"; }

Graph receiver_from_json(const std::string& text) {
  try {
    return Reader().read(Json::parse(text));
  } catch (const std::exception& error) {
    fail(ErrorKind::kDataLoss, "the description of the receiver is not whole: ", error.what());
  }
}

}  // namespace belfry::internal
