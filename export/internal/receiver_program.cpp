#include "export/internal/receiver_program.h"

#include <ATen/ATen.h>

#include <unordered_map>

#include "core/error.h"

namespace belfry::internal {

namespace {

GraphType type_of(const Value& value) {
  return {value.is_strings() ? kString : value.tensor().scalar_type(), value.sizes()};
}

}  // namespace

bool is_of_type(const Value& value, const GraphType& type) {
  const GraphType given = type_of(value);
  bool fits = given.dtype == type.dtype && given.rank() == type.rank();
  for (size_t axis = 0; fits && axis < type.shape.size(); ++axis) {
    fits = type.shape[axis] == kFreeSize || type.shape[axis] == given.shape[axis];
  }
  return fits;
}

void check_value(const std::string& name, const Value& value, const GraphType& type) {
  require(is_of_type(value, type), "input '", name, "' is ", to_string(type_of(value)), " and has to be ",
          to_string(type));
}

namespace {

// What a request makes go wrong, such as an id outside of what it gathers from.
std::vector<Value> run_node(const ReceiverNode& node, const std::vector<Value>& in) {
  try {
    return node.run(in);
  } catch (const Error&) {
    throw;
  } catch (const c10::Error& error) {
    fail(ErrorKind::kInvalidArgument, "receiver: ", to_string(node.node().operation), ": ",
         error.what_without_backtrace());
  } catch (const std::exception& error) {
    fail(ErrorKind::kInvalidArgument, "receiver: ", to_string(node.node().operation), ": ", error.what());
  }
}

}  // namespace

ReceiverProgram::ReceiverProgram(Graph graph) : graph_(std::make_unique<const Graph>(std::move(graph))) {
  for (const size_t number : graph_->live_nodes()) nodes_.emplace_back(*graph_, graph_->nodes()[number]);
}

TensorDict ReceiverProgram::run(const TensorDict& inputs) const {
  const at::NoGradGuard no_grad;
  std::unordered_map<int32_t, Value> values;
  for (const ReceiverNode& one : nodes_) {
    const GraphNode& node = one.node();
    if (node.operation == Operation::kInput) {
      const std::string& name = node.attributes.text("name");
      const Value& given = inputs.at(name);
      check_value(name, given, one.type());
      values.emplace(node.outputs[0].id, given);
      continue;
    }
    std::vector<Value> in;
    for (const GraphValue input : node.inputs) in.push_back(values.at(input.id));
    const std::vector<Value> out = run_node(one, in);
    for (size_t i = 0; i < node.outputs.size(); ++i) values.emplace(node.outputs[i].id, out.at(i));
  }
  TensorDict outputs;
  for (const GraphOutput& output : graph_->outputs()) outputs.set(output.name, values.at(output.value.id));
  return outputs;
}

}  // namespace belfry::internal
