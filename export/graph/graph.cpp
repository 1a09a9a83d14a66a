#include "export/graph/graph.h"

#include <ATen/ATen.h>

#include "core/error.h"

namespace belfry {
namespace {

template <class T>
const T& get(const GraphAttributes& attributes, std::string_view name) {
  const auto found = attributes.all().find(name);
  if (found == attributes.all().end()) fail(ErrorKind::kInternal, "graph: a node has no attribute '", name, "'");
  const T* value = std::get_if<T>(&found->second);
  if (!value) fail(ErrorKind::kInternal, "graph: attribute '", name, "' has another type");
  return *value;
}

std::string text_of(const GraphAttributes::Attribute& attribute) {
  if (const auto* flag = std::get_if<bool>(&attribute)) return *flag ? "true" : "false";
  if (const auto* text = std::get_if<std::string>(&attribute)) return "'" + *text + "'";
  if (const auto* list = std::get_if<std::vector<int64_t>>(&attribute)) return concat(at::IntArrayRef(*list));
  if (const auto* number = std::get_if<double>(&attribute)) return concat(*number);
  if (const auto* integer = std::get_if<int64_t>(&attribute)) return concat(*integer);
  if (const auto* strings = std::get_if<StringTensor>(&attribute)) return concat(strings->numel(), " strings");
  return "tensor";  // its type stands on the left
}

std::string line_of(const Graph& graph, const GraphNode& node) {
  std::string line;
  for (const GraphValue output : node.outputs) {
    line += concat(line.empty() ? "%" : ", %", output.id, " ", to_string(graph.type(output)));
  }
  line += concat(" = ", to_string(node.operation), "(");
  const char* separator = "";
  for (const GraphValue input : node.inputs) {
    line += concat(separator, "%", input.id);
    separator = ", ";
  }
  for (const auto& [name, value] : node.attributes.all()) {
    line += concat(separator, name, "=", text_of(value));
    separator = ", ";
  }
  return line + (node.place.empty() ? ")\n" : ")  # " + node.place + "\n");
}

}  // namespace

std::string to_string(const GraphType& type) { return concat(dtype_text(type.dtype), at::IntArrayRef(type.shape)); }

bool GraphAttributes::flag(std::string_view name) const { return get<bool>(*this, name); }
int64_t GraphAttributes::integer(std::string_view name) const { return get<int64_t>(*this, name); }
double GraphAttributes::number(std::string_view name) const { return get<double>(*this, name); }
const std::string& GraphAttributes::text(std::string_view name) const { return get<std::string>(*this, name); }
const at::Tensor& GraphAttributes::tensor(std::string_view name) const { return get<at::Tensor>(*this, name); }
const StringTensor& GraphAttributes::strings(std::string_view name) const { return get<StringTensor>(*this, name); }
const std::vector<int64_t>& GraphAttributes::integers(std::string_view name) const {
  return get<std::vector<int64_t>>(*this, name);
}

std::vector<size_t> Graph::live_nodes() const {
  std::vector<bool> live(nodes_.size(), false);
  for (const GraphOutput& output : outputs_) live[values_.at(output.value.id).producer] = true;
  for (size_t i = nodes_.size(); i-- > 0;) {
    if (nodes_[i].operation == Operation::kInput) live[i] = true;
    if (!live[i]) continue;
    for (const GraphValue input : nodes_[i].inputs) live[values_.at(input.id).producer] = true;
  }
  std::vector<size_t> numbers;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (live[i]) numbers.push_back(i);
  }
  return numbers;
}

const at::Tensor* Graph::literal(GraphValue value) const {
  const GraphNode& node = producer(value);
  const bool is_literal = node.operation == Operation::kConstant || node.operation == Operation::kVariable;
  return is_literal ? &node.attributes.tensor("value") : nullptr;
}

std::string to_string(const Graph& graph) {
  std::string text;
  for (const size_t i : graph.live_nodes()) text += line_of(graph, graph.nodes()[i]);
  for (const GraphOutput& output : graph.outputs())
    text += concat("return '", output.name, "' %", output.value.id, "\n");
  return text;
}

}  // namespace belfry
