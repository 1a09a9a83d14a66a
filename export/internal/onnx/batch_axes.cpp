#include "export/internal/onnx/batch_axes.h"

#include <algorithm>

#include "core/error.h"

namespace belfry::internal::onnx {
namespace {

constexpr const char* kBatch = "batch";

bool is_between(Operation operation, Operation first, Operation last) {
  return first <= operation && operation <= last;
}

// Ascending.
std::vector<int64_t> axes_of(const GraphNode& node) {
  if (!node.attributes.all().contains("axes")) return {node.attributes.integer("axis")};
  std::vector<int64_t> axes = node.attributes.integers("axes");
  std::sort(axes.begin(), axes.end());
  return axes;
}

// Product of the sizes that are known, and how many are not.
std::pair<int64_t, size_t> known_product(const std::vector<int64_t>& shape) {
  int64_t product = 1;
  size_t free = 0;
  for (const int64_t size : shape) size == kFreeSize ? void(++free) : void(product *= size);
  return {product, free};
}

}  // namespace

BatchAxes::BatchAxes(const Graph& graph) : graph_(graph) {
  for (const size_t i : graph.live_nodes()) {
    const GraphNode& node = graph.nodes()[i];
    const Axes followed = follow(node);
    for (const GraphValue output : node.outputs) {
      const GraphType& type = graph.type(output);
      Axes axes = followed;
      axes.resize(type.shape.size(), false);
      for (size_t axis = 0; axis < axes.size(); ++axis) {
        if (type.shape[axis] != kFreeSize) axes[axis] = false;
      }
      axes_[output.id] = axes;
    }
  }
}

BatchAxes::Axes BatchAxes::follow(const GraphNode& node) const {
  const Operation operation = node.operation;
  const auto first = [&] { return of(node.inputs.at(0)); };
  if (operation == Operation::kInput) return {true};
  if (is_between(operation, Operation::kAbs, Operation::kIsInf) || operation == Operation::kCast) return first();
  if (is_between(operation, Operation::kAdd, Operation::kSelect)) {
    return broadcast(node.inputs, graph_.type(node.outputs[0]), 0);
  }
  if (is_between(operation, Operation::kSum, Operation::kLogSoftmax)) return follow_axis(node);
  if (is_between(operation, Operation::kStack, Operation::kRange)) return follow_shape(node);
  switch (operation) {
    case Operation::kLinear: {
      Axes axes = first();
      axes.back() = false;
      return axes;
    }
    case Operation::kMatmul:
      return broadcast(node.inputs, graph_.type(node.outputs[0]), 2);
    case Operation::kGather: {
      const Axes x = first();
      const Axes& indices = of(node.inputs.at(1));
      const int64_t axis = node.attributes.integer("axis");
      Axes axes(x.begin(), x.begin() + axis);
      axes.insert(axes.end(), indices.begin(), indices.end());
      axes.insert(axes.end(), x.begin() + axis + 1, x.end());
      return axes;
    }
    case Operation::kGatherElements:
      return of(node.inputs.at(1));
    case Operation::kScatterElements:
    case Operation::kOneHot:
    case Operation::kBatchNormalization:
    case Operation::kLayerNormalization:
      return first();
    case Operation::kConvolution:
    case Operation::kTransposedConvolution:
    case Operation::kMaxPool:
    case Operation::kAveragePool:
    case Operation::kResizeNearest:
    case Operation::kResizeLinear:
      return {first().at(0)};
    case Operation::kLstm:
    case Operation::kGru:
    case Operation::kRnn:
      return {first().at(0), first().at(1)};
    default:
      return {};
  }
}

// Reductions and what runs along one axis.
BatchAxes::Axes BatchAxes::follow_axis(const GraphNode& node) const {
  Axes x = of(node.inputs.at(0));
  if (node.operation == Operation::kTopK) x.at(node.attributes.integer("axis")) = false;
  const bool keeps = !node.attributes.all().contains("keep") || node.attributes.flag("keep");
  if (keeps) return x;  // an axis of size 1 is not free
  const std::vector<int64_t> gone = axes_of(node);
  Axes axes;
  for (size_t axis = 0; axis < x.size(); ++axis) {
    if (std::find(gone.begin(), gone.end(), static_cast<int64_t>(axis)) == gone.end()) axes.push_back(x[axis]);
  }
  return axes;
}

BatchAxes::Axes BatchAxes::follow_shape(const GraphNode& node) const {
  Axes x = of(node.inputs.at(0));
  switch (node.operation) {
    case Operation::kTranspose: {
      Axes axes;
      for (const int64_t axis : node.attributes.integers("permutation")) axes.push_back(x.at(axis));
      return axes;
    }
    case Operation::kSqueeze: {
      const std::vector<int64_t> gone = axes_of(node);
      for (size_t i = gone.size(); i-- > 0;) x.erase(x.begin() + gone[i]);
      return x;
    }
    case Operation::kStack:
    case Operation::kUnsqueeze:
      for (const int64_t axis : axes_of(node)) x.insert(x.begin() + axis, false);
      return x;
    case Operation::kConcatenate:
    case Operation::kSplit:
    case Operation::kSlice:
      x.at(node.attributes.integer("axis")) = false;
      return x;
    case Operation::kReverse:
    case Operation::kBandPart:
      return x;
    case Operation::kPad:
    case Operation::kMirrorPad:
      for (size_t axis = 0; axis < x.size(); ++axis) {
        if (node.attributes.integers("before")[axis] + node.attributes.integers("after")[axis] != 0) x[axis] = false;
      }
      return x;
    case Operation::kTile:
      for (size_t axis = 0; axis < x.size(); ++axis)
        x[axis] = x[axis] && node.attributes.integers("repeats")[axis] == 1;
      return x;
    case Operation::kReshape:
    case Operation::kBroadcast: {
      Axes axes(graph_.type(node.outputs[0]).shape.size(), false);
      const GraphNode& shape = graph_.producer(node.inputs.at(1));
      for (size_t axis = 0; axis < axes.size(); ++axis) {
        axes[axis] =
            shape.operation == Operation::kStack ? is_batch_size(shape.inputs.at(axis)) : is_inferred_batch(node);
      }
      return axes;
    }
    default:
      return {};
  }
}

BatchAxes::Axes BatchAxes::broadcast(const std::vector<GraphValue>& operands, const GraphType& result,
                                     int64_t apart) const {
  const int64_t rank = result.rank();
  Axes axes(rank, false);
  for (int64_t axis = 0; axis < rank - apart; ++axis) {
    bool batch = false;
    bool other = false;
    for (const GraphValue operand : operands) {
      const int64_t own = axis - (rank - graph_.type(operand).rank());
      if (own < 0 || graph_.type(operand).shape[own] != kFreeSize) continue;
      (of(operand)[own] ? batch : other) = true;
    }
    axes[axis] = batch && !other;
  }
  return axes;
}

// A size that is left to be inferred, when the batch is all that varies and as many numbers belong to each row.
bool BatchAxes::is_inferred_batch(const GraphNode& reshape) const {
  const GraphValue x = reshape.inputs.at(0);
  const auto before = known_product(graph_.type(x).shape);
  const auto after = known_product(graph_.type(reshape.outputs[0]).shape);
  const Axes& axes = of(x);
  return std::count(axes.begin(), axes.end(), true) == 1 && before.second == 1 && before == after;
}

bool BatchAxes::is_batch_size(GraphValue scalar) const {
  const GraphNode& node = graph_.producer(scalar);
  return node.operation == Operation::kSize && of(node.inputs.at(0)).at(node.attributes.integer("axis"));
}

Dims dims_of(const GraphType& type, const std::vector<bool>& batch_axes, const std::string& name) {
  Dims dims;
  for (size_t axis = 0; axis < type.shape.size(); ++axis) {
    if (type.shape[axis] != kFreeSize) {
      dims.emplace_back(type.shape[axis]);
    } else {
      dims.emplace_back(axis < batch_axes.size() && batch_axes[axis] ? kBatch : concat(name, "_dim_", axis));
    }
  }
  return dims;
}

}  // namespace belfry::internal::onnx
