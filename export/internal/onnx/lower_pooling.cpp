// Pooling. Where the last window hangs over (ceil_mode), the padding behind says how far: what ONNX's own ceil_mode
// does differs between releases of ONNX Runtime.
#include <ATen/ATen.h>

#include <algorithm>

#include "core/error.h"
#include "export/internal/onnx/kernel_dtype.h"
#include "export/internal/onnx/lowering.h"
#include "export/internal/shapes.h"

namespace belfry::internal::onnx {
namespace {

using Integers = std::vector<int64_t>;

Integers dilations_of(const GraphNode& node) {
  if (node.operation == Operation::kMaxPool) return node.attributes.integers("dilations");
  return Integers(node.attributes.integers("kernel").size(), 1);
}

// The padding behind the image that its last window needs.
Integers padding_behind(Lowering& lowering, const GraphNode& node) {
  const GraphAttributes& attributes = node.attributes;
  Integers behind = attributes.integers("padding");
  if (!attributes.flag("ceil")) return behind;
  for (size_t i = 0; i < behind.size(); ++i) {
    const int64_t size = lowering.type(node, 0).shape.at(i + 2);
    if (size == kFreeSize) fail(ErrorKind::kUnimplemented, "ceil_mode over a size that varies from request to request");
    const Window window{attributes.integers("kernel")[i],
                        attributes.integers("strides")[i],
                        behind[i],
                        behind[i],
                        dilations_of(node)[i],
                        true};
    const int64_t reach = (window_count(size, window) - 1) * window.stride + (window.kernel - 1) * window.dilation + 1;
    behind[i] = std::max(behind[i], reach - size - window.before);
    if (behind[i] >= window.kernel) fail(ErrorKind::kUnimplemented, "a dilated window that hangs over by its size");
  }
  return behind;
}

Node pool(Lowering& lowering, const GraphNode& node, const char* name, const Tensor& x, const Integers& before,
          const Integers& behind) {
  Integers pads = before;
  pads.insert(pads.end(), behind.begin(), behind.end());
  return lowering.out()
      .node(name, {x})
      .integers("kernel_shape", node.attributes.integers("kernel"))
      .integers("strides", node.attributes.integers("strides"))
      .integers("pads", pads);
}

void lower_max_pool(Lowering& lowering, const GraphNode& node) {
  const c10::ScalarType dtype = kernel_dtype("MaxPool", lowering.type(node, 0).dtype);
  if (!at::isFloatingType(dtype)) fail(ErrorKind::kUnimplemented, "ONNX pools no integers of this size");
  const Integers behind = padding_behind(lowering, node);
  const Tensor x = lowering.input(node, 0, dtype);
  Node pooled = pool(lowering, node, "MaxPool", x, node.attributes.integers("padding"), behind);
  lowering.set(node, pooled.integers("dilations", dilations_of(node)).output(dtype));
}

// Zeros around the image, without batch and channels.
Tensor framed(OnnxBuilder& out, const Tensor& x, const Integers& margins) {
  Integers all{0, 0};
  all.insert(all.end(), margins.begin(), margins.end());
  return out.pad(x, all, all, out.scalar(0, x.dtype));
}

// What hangs over never counts. Where the padding does, and there is both, the padding is made part of the image.
void lower_average_pool(Lowering& lowering, const GraphNode& node) {
  const c10::ScalarType dtype = kernel_dtype("AveragePool", lowering.type(node, 0).dtype);
  Integers before = node.attributes.integers("padding");
  Integers behind = padding_behind(lowering, node);
  Tensor x = lowering.input(node, 0, dtype);
  bool counts = node.attributes.flag("count_padding");
  if (counts && behind != before) {
    x = framed(lowering.out(), x, before);
    for (size_t i = 0; i < before.size(); ++i) behind[i] -= std::exchange(before[i], 0);
    counts = false;
  }
  Node pooled = pool(lowering, node, "AveragePool", x, before, behind);
  lowering.set(node, pooled.integer("count_include_pad", counts ? 1 : 0).output(dtype));
}

}  // namespace

void add_pooling_lowerings(LoweringTable& table) {
  table[Operation::kMaxPool] = lower_max_pool;
  table[Operation::kAveragePool] = lower_average_pool;
}

}  // namespace belfry::internal::onnx
