#include "export/internal/onnx/batch_axes.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/error.h"

namespace belfry::internal::onnx {
namespace {

using Multiples = BatchAxes::Multiples;

constexpr const char* kBatch = "batch";

bool is_between(Operation operation, Operation first, Operation last) {
  return first <= operation && operation <= last;
}

// Ascending.
std::vector<int64_t> axes_of(const GraphNode& node) {
  if (!node.attributes.contains("axes")) return {node.attributes.integer("axis")};
  std::vector<int64_t> axes = node.attributes.integers("axes");
  std::sort(axes.begin(), axes.end());
  return axes;
}

// Of the sizes that are known.
int64_t known_product(const std::vector<int64_t>& shape) {
  int64_t product = 1;
  for (const int64_t size : shape) product *= size == kFreeSize ? 1 : size;
  return product;
}

bool is_literal(const Graph& graph, GraphValue value, int64_t number) {
  const at::Tensor* known = graph.literal(value);
  return known && known->numel() == 1 && known->item<double>() == static_cast<double>(number);
}

}  // namespace

BatchAxes::BatchAxes(const Graph& graph) : graph_(graph) {
  for (const size_t i : graph.live_nodes()) {
    const GraphNode& node = graph.nodes()[i];
    for (size_t output = 0; output < node.outputs.size(); ++output) {
      const std::vector<int64_t>& shape = graph.type(node.outputs[output]).shape;
      Multiples multiples = follow(node, output);
      multiples.resize(shape.size(), 0);
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        if (shape[axis] != kFreeSize) multiples[axis] = 0;
      }
      axes_[node.outputs[output].id] = multiples;
    }
  }
}

Multiples BatchAxes::follow(const GraphNode& node, size_t output) const {
  const Operation operation = node.operation;
  if (operation == Operation::kInput) return {1};
  if (is_between(operation, Operation::kAbs, Operation::kIsInf)) return of(node.inputs.at(0));
  if (operation == Operation::kCast || operation == Operation::kBucketize) return of(node.inputs.at(0));
  if (is_between(operation, Operation::kAdd, Operation::kSelect)) return broadcast(node, 0);
  if (is_between(operation, Operation::kSum, Operation::kLogSoftmax)) return follow_axis(node);
  if (is_between(operation, Operation::kStack, Operation::kRange)) return follow_view(node);
  if (is_between(operation, Operation::kGather, Operation::kOneHot)) return follow_indexing(node);
  return follow_layer(node, output);
}

// Reductions and what runs along one axis.
Multiples BatchAxes::follow_axis(const GraphNode& node) const {
  const Multiples& x = of(node.inputs.at(0));
  const std::vector<int64_t> axes = axes_of(node);
  const auto is_reduced = [&](size_t axis) {
    return std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end();
  };
  const bool keeps = !node.attributes.contains("keep") || node.attributes.flag("keep");
  Multiples result;
  for (size_t axis = 0; axis < x.size(); ++axis) {
    if (node.operation == Operation::kTopK && is_reduced(axis)) {
      result.push_back(scalar(node.inputs.at(1)));
    } else if (keeps || !is_reduced(axis)) {
      result.push_back(x[axis]);
    }
  }
  return result;
}

Multiples BatchAxes::follow_view(const GraphNode& node) const {
  Multiples x = of(node.inputs.at(0));
  const GraphAttributes& attributes = node.attributes;
  switch (node.operation) {
    case Operation::kTranspose: {
      Multiples result;
      for (const int64_t axis : attributes.integers("permutation")) result.push_back(x.at(axis));
      return result;
    }
    case Operation::kSqueeze: {
      const std::vector<int64_t> gone = axes_of(node);
      for (size_t i = gone.size(); i-- > 0;) x.erase(x.begin() + gone[i]);
      return x;
    }
    case Operation::kStack:
    case Operation::kUnsqueeze:
      for (const int64_t axis : axes_of(node)) x.insert(x.begin() + axis, 0);
      return x;
    case Operation::kConcatenate:
    case Operation::kSplit:
    case Operation::kSlice:
      x.at(attributes.integer("axis")) = 0;
      return x;
    case Operation::kReverse:
    case Operation::kBandPart:
      return x;
    case Operation::kTile:
      for (size_t axis = 0; axis < x.size(); ++axis) x[axis] *= attributes.integers("repeats")[axis];
      return x;
    default:
      return follow_shape(node);
  }
}

// Views whose sizes are given.
Multiples BatchAxes::follow_shape(const GraphNode& node) const {
  Multiples result = of(node.inputs.at(0));
  const GraphAttributes& attributes = node.attributes;
  if (node.operation == Operation::kPad || node.operation == Operation::kMirrorPad) {
    for (size_t axis = 0; axis < result.size(); ++axis) {
      if (attributes.integers("before")[axis] + attributes.integers("after")[axis] != 0) result[axis] = 0;
    }
    return result;
  }
  if (node.operation == Operation::kRange) {
    const bool counts = is_literal(graph_, node.inputs.at(0), 0) && is_literal(graph_, node.inputs.at(2), 1);
    return {counts ? scalar(node.inputs.at(1)) : 0};
  }
  const GraphNode& shape = graph_.producer(node.inputs.at(1));  // of kReshape and kBroadcast
  result.assign(graph_.type(node.outputs[0]).shape.size(), 0);
  for (size_t axis = 0; axis < result.size(); ++axis) {
    if (shape.operation == Operation::kStack) {
      result[axis] = scalar(shape.inputs.at(axis));
    } else if (node.operation == Operation::kReshape) {
      result[axis] = inferred(node);
    }
  }
  return result;
}

// The one size that is left to be inferred.
int64_t BatchAxes::inferred(const GraphNode& reshape) const {
  const GraphValue x = reshape.inputs.at(0);
  const std::vector<int64_t>& shape = graph_.type(x).shape;
  const Multiples& multiples = of(x);
  const auto free = std::find(shape.begin(), shape.end(), kFreeSize);
  if (free == shape.end() || std::count(free, shape.end(), kFreeSize) != 1) return 0;
  const int64_t numbers = multiples.at(free - shape.begin()) * known_product(shape);  // for each row
  const std::vector<int64_t>& wanted = graph_.type(reshape.outputs[0]).shape;
  if (std::count(wanted.begin(), wanted.end(), kFreeSize) != 1) return 0;
  const int64_t known = known_product(wanted);
  return known > 0 && numbers % known == 0 ? numbers / known : 0;
}

int64_t BatchAxes::scalar(GraphValue value) const {
  const GraphNode& node = graph_.producer(value);
  if (node.operation == Operation::kSize) return of(node.inputs.at(0)).at(node.attributes.integer("axis"));
  if (node.operation != Operation::kMultiply) return 0;
  for (const size_t i : {0, 1}) {
    const at::Tensor* factor = graph_.literal(node.inputs.at(i));
    if (factor && factor->numel() == 1) return scalar(node.inputs.at(1 - i)) * factor->item<int64_t>();
  }
  return 0;
}

Multiples BatchAxes::follow_indexing(const GraphNode& node) const {
  const Multiples& x = of(node.inputs.at(0));
  if (node.operation == Operation::kScatterElements || node.operation == Operation::kOneHot) return x;
  if (node.operation == Operation::kNonZero) return {};
  const Multiples& indices = of(node.inputs.at(1));
  if (node.operation == Operation::kGatherElements) return indices;
  Multiples result;
  const auto append = [&](const Multiples& from, size_t begin, size_t end) {
    result.insert(result.end(), from.begin() + static_cast<int64_t>(begin), from.begin() + static_cast<int64_t>(end));
  };
  if (node.operation == Operation::kGather) {
    const auto axis = static_cast<size_t>(node.attributes.integer("axis"));
    append(x, 0, axis);
    append(indices, 0, indices.size());
    append(x, axis + 1, x.size());
  } else if (node.operation == Operation::kGatherNd) {
    append(indices, 0, indices.size() - 1);
    append(x, static_cast<size_t>(graph_.type(node.inputs.at(1)).shape.back()), x.size());
  }
  return result;
}

Multiples BatchAxes::follow_layer(const GraphNode& node, size_t output) const {
  if (!is_between(node.operation, Operation::kLinear, Operation::kRnn)) return {};
  const Multiples& x = of(node.inputs.at(0));
  switch (node.operation) {
    case Operation::kMatmul:
      return matmul(node);
    case Operation::kEinsum:
      return follow_einsum(node);
    case Operation::kBatchNormalization:
    case Operation::kLayerNormalization:
      return x;
    case Operation::kLinear:
      return Multiples(x.begin(), x.end() - 1);
    case Operation::kLstm:
    case Operation::kGru:
    case Operation::kRnn:
      return output == 0 ? Multiples{x.at(0), x.at(1)} : Multiples{x.at(1)};
    default:
      return {x.at(0)};  // images
  }
}

Multiples BatchAxes::broadcast(const GraphNode& node, int64_t apart) const {
  const int64_t rank = graph_.type(node.outputs[0]).rank();
  Multiples result;
  for (int64_t axis = 0; axis < rank - apart; ++axis) {
    std::vector<int64_t> found;
    for (const GraphValue operand : node.inputs) {
      const int64_t own = axis - (rank - graph_.type(operand).rank());
      if (own >= 0 && graph_.type(operand).shape[own] == kFreeSize) found.push_back(of(operand)[own]);
    }
    const bool agree =
        !found.empty() && std::all_of(found.begin(), found.end(), [&](int64_t m) { return m == found[0]; });
    result.push_back(agree ? found[0] : 0);
  }
  return result;
}

Multiples BatchAxes::matmul(const GraphNode& node) const {
  Multiples result = broadcast(node, 2);
  const Multiples& a = of(node.inputs.at(0));
  result.push_back(a.at(a.size() - 2));
  result.push_back(of(node.inputs.at(1)).back());
  return result;
}

// By the letters of its operands; those that are not written out are left open.
Multiples BatchAxes::follow_einsum(const GraphNode& node) const {
  std::string equation = node.attributes.text("equation");
  std::erase(equation, ' ');
  const size_t arrow = equation.find("->");
  if (arrow == std::string::npos || equation.find('.') != std::string::npos) return {};
  std::unordered_map<char, int64_t> letters;
  size_t operand = 0;
  size_t axis = 0;
  for (const char c : equation.substr(0, arrow)) {
    if (c == ',') {
      ++operand;
      axis = 0;
    } else {
      letters[c] = of(node.inputs.at(operand)).at(axis++);
    }
  }
  Multiples result;
  for (const char c : equation.substr(arrow + 2)) result.push_back(letters[c]);
  return result;
}

Dims dims_of(const GraphType& type, const Multiples& multiples, const std::string& name) {
  Dims dims;
  for (size_t axis = 0; axis < type.shape.size(); ++axis) {
    if (type.shape[axis] != kFreeSize) {
      dims.emplace_back(type.shape[axis]);
    } else {
      dims.emplace_back(axis < multiples.size() && multiples[axis] == 1 ? kBatch : concat(name, "_dim_", axis));
    }
  }
  return dims;
}

}  // namespace belfry::internal::onnx
