#include "export/graph/graph_builder.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/error.h"
#include "export/internal/shapes.h"

namespace belfry {
namespace {

using internal::positive_axes;
using internal::positive_axis;

bool gives_bool(Operation operation) {
  switch (operation) {
    case Operation::kIsNan:
    case Operation::kIsInf:
    case Operation::kEqual:
    case Operation::kNotEqual:
    case Operation::kGreater:
    case Operation::kGreaterEqual:
    case Operation::kLess:
    case Operation::kLessEqual:
      return true;
    default:
      return false;
  }
}

void require_dtype(const GraphType& type, c10::ScalarType wanted, const char* what) {
  require(type.dtype == wanted, what, " is ", c10::toString(type.dtype), " and has to be ", c10::toString(wanted));
}

}  // namespace

void GraphBuilder::refine(GraphValue value, const GraphType& known) {
  GraphType& type = graph_.values_.at(value.id).type;
  const auto refuse = [&] {
    fail(ErrorKind::kInvalidArgument, "the graph has ", to_string(type), " where the model has ", to_string(known));
  };
  if (type.dtype != known.dtype || type.rank() != known.rank()) refuse();
  for (size_t axis = 0; axis < type.shape.size(); ++axis) {
    if (known.shape[axis] == kFreeSize) continue;
    if (type.shape[axis] != kFreeSize && type.shape[axis] != known.shape[axis]) refuse();
  }
  for (size_t axis = 0; axis < type.shape.size(); ++axis) {
    if (known.shape[axis] != kFreeSize) type.shape[axis] = known.shape[axis];
  }
}

std::vector<GraphValue> GraphBuilder::node(Operation operation, std::vector<GraphValue> inputs,
                                           GraphAttributes attributes, const std::vector<GraphType>& types) {
  GraphNode node{operation, std::move(inputs), {}, std::move(attributes), place_};
  for (const GraphType& type : types) {
    node.outputs.push_back({static_cast<int32_t>(graph_.values_.size())});
    graph_.values_.push_back({type, graph_.nodes_.size()});
  }
  graph_.nodes_.push_back(node);
  return node.outputs;
}

GraphValue GraphBuilder::single(Operation operation, std::vector<GraphValue> inputs, GraphAttributes attributes,
                                const GraphType& type) {
  return node(operation, std::move(inputs), std::move(attributes), {type})[0];
}

std::vector<GraphValue> GraphBuilder::append(const Graph& graph, Appended* appended) {
  Appended here;
  for (const size_t number : graph.live_nodes()) {
    const GraphNode& given = graph.nodes()[number];
    std::vector<GraphValue> inputs;
    for (const GraphValue input : given.inputs) inputs.push_back(here.at(input.id));
    std::vector<GraphType> types;
    for (const GraphValue output : given.outputs) types.push_back(graph.type(output));
    const auto outputs = node(given.operation, std::move(inputs), given.attributes, types);
    for (size_t i = 0; i < outputs.size(); ++i) here[given.outputs[i].id] = outputs[i];
  }
  std::vector<GraphValue> results;
  for (const GraphOutput& output : graph.outputs()) results.push_back(here.at(output.value.id));
  if (appended) *appended = std::move(here);
  return results;
}

Graph GraphBuilder::build(std::vector<GraphOutput> outputs) {
  graph_.outputs_ = std::move(outputs);
  return std::exchange(graph_, Graph());
}

GraphValue GraphBuilder::input(const std::string& name, const GraphType& type) {
  return single(Operation::kInput, {}, {{"name", name}}, type);
}

GraphValue GraphBuilder::variable(const std::string& name, const at::Tensor& tensor) {
  const GraphType type{tensor.scalar_type(), tensor.sizes().vec()};
  return single(Operation::kVariable, {}, {{"name", name}, {"value", tensor.detach().contiguous()}}, type);
}

GraphValue GraphBuilder::constant(const at::Tensor& tensor) {
  const GraphType type{tensor.scalar_type(), tensor.sizes().vec()};
  return single(Operation::kConstant, {}, {{"value", tensor.detach().contiguous()}}, type);
}

GraphValue GraphBuilder::scalar(const at::Scalar& number, c10::ScalarType dtype) {
  return constant(at::full({}, number, at::TensorOptions(dtype)));
}

GraphValue GraphBuilder::integers(const std::vector<int64_t>& numbers) {
  return constant(at::tensor(numbers, at::kLong));
}

GraphValue GraphBuilder::unary(Operation operation, GraphValue x) {
  GraphType result = type(x);
  if (gives_bool(operation)) result.dtype = at::kBool;
  return single(operation, {x}, {}, result);
}

GraphValue GraphBuilder::binary(Operation operation, GraphValue a, GraphValue b) {
  require(type(a).dtype == type(b).dtype, to_string(operation), " of ", to_string(type(a)), " and ",
          to_string(type(b)));
  GraphType result{type(a).dtype, internal::broadcast_shapes(type(a).shape, type(b).shape)};
  if (gives_bool(operation)) result.dtype = at::kBool;
  return single(operation, {a, b}, {}, result);
}

GraphValue GraphBuilder::binary(Operation operation, GraphValue a, const at::Scalar& b) {
  return binary(operation, a, scalar(b, type(a).dtype));
}

GraphValue GraphBuilder::select(GraphValue condition, GraphValue then, GraphValue otherwise) {
  require_dtype(type(condition), at::kBool, "select: the condition");
  require_dtype(type(otherwise), type(then).dtype, "select: the third operand");
  const auto branches = internal::broadcast_shapes(type(then).shape, type(otherwise).shape);
  return single(Operation::kSelect, {condition, then, otherwise}, {},
                {type(then).dtype, internal::broadcast_shapes(type(condition).shape, branches)});
}

GraphValue GraphBuilder::cast(GraphValue x, c10::ScalarType dtype) {
  if (type(x).dtype == dtype) return x;
  return single(Operation::kCast, {x}, {}, {dtype, type(x).shape});
}

GraphValue GraphBuilder::reduce(Operation operation, GraphValue x, const std::vector<int64_t>& given, bool keep) {
  const std::vector<int64_t> axes = rank(x) == 0 ? std::vector<int64_t>() : positive_axes(given, rank(x));
  if (axes.empty()) return x;
  return single(operation, {x}, {{"axes", axes}, {"keep", keep}},
                {type(x).dtype, internal::reduced_shape(type(x).shape, axes, keep)});
}

GraphValue GraphBuilder::arg_reduce(Operation operation, GraphValue x, int64_t given, bool keep) {
  const int64_t axis = positive_axis(given, rank(x));
  return single(operation, {x}, {{"axis", axis}, {"keep", keep}},
                {at::kLong, internal::reduced_shape(type(x).shape, {axis}, keep)});
}

GraphValue GraphBuilder::along_axis(Operation operation, GraphValue x, int64_t axis) {
  return single(operation, {x}, {{"axis", positive_axis(axis, rank(x))}}, type(x));
}

std::pair<GraphValue, GraphValue> GraphBuilder::top_k(GraphValue x, const Extent& k, int64_t given, bool largest) {
  const int64_t axis = positive_axis(given, rank(x));
  GraphType values = type(x);
  values.shape.at(axis) = std::holds_alternative<int64_t>(k) ? std::get<int64_t>(k) : kFreeSize;
  const auto outputs = node(Operation::kTopK, {x, scalar_of(k)}, {{"axis", axis}, {"largest", largest}},
                            {values, {at::kLong, values.shape}});
  return {outputs[0], outputs[1]};
}

GraphValue GraphBuilder::linear(GraphValue x, GraphValue weight, GraphValue bias) {
  require(rank(x) >= 1 && rank(weight) == 2, "linear of ", to_string(type(x)), " by ", to_string(type(weight)));
  GraphType result = type(x);
  result.shape.back() = type(weight).shape[0];
  std::vector<GraphValue> inputs{x, weight};
  if (bias.defined()) inputs.push_back(bias);
  return single(Operation::kLinear, inputs, {}, result);
}

GraphValue GraphBuilder::matmul(GraphValue a, GraphValue b) {
  require(rank(a) >= 2 && rank(b) >= 2, "matmul of ", to_string(type(a)), " and ", to_string(type(b)));
  require_dtype(type(b), type(a).dtype, "matmul: the second operand");
  const auto leading = [](const std::vector<int64_t>& shape) {
    return std::vector<int64_t>(shape.begin(), shape.end() - 2);
  };
  std::vector<int64_t> shape = internal::broadcast_shapes(leading(type(a).shape), leading(type(b).shape));
  shape.push_back(*(type(a).shape.end() - 2));
  shape.push_back(type(b).shape.back());
  return single(Operation::kMatmul, {a, b}, {}, {type(a).dtype, shape});
}

}  // namespace belfry
