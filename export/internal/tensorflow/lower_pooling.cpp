// Pooling: padded first, so that the kernels need no padding of their own, whose rules differ.
#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "export/internal/shapes.h"
#include "export/internal/tensorflow/image_layout.h"
#include "export/internal/tensorflow/kernel_dtype.h"
#include "export/internal/tensorflow/lowering.h"

namespace belfry::internal {
namespace {

using Integers = std::vector<int64_t>;

Integers planar(Integers numbers, int64_t front) {
  if (numbers.size() == 1) numbers.insert(numbers.begin(), front);
  return numbers;
}

// Sizes of one pooling over two or three axes; a single axis has gained one of size 1 in front.
struct Geometry {
  Integers sizes;
  Integers kernel;
  Integers strides;
  Integers padding;
  Integers counts;  // of windows
  Integers after;   // padding behind, with what the last window hangs over
};

Geometry geometry_of(Lowering& lowering, const GraphNode& node) {
  const Integers& shape = lowering.type(node, 0).shape;
  const GraphAttributes& attributes = node.attributes;
  Geometry g{planar(Integers(shape.begin() + 2, shape.end()), 1),
             planar(attributes.integers("kernel"), 1),
             planar(attributes.integers("strides"), 1),
             planar(attributes.integers("padding"), 0),
             {},
             {}};
  for (size_t i = 0; i < g.sizes.size(); ++i) {
    if (g.sizes[i] == kFreeSize)
      fail(ErrorKind::kUnimplemented, "the size of its image varies from request to request");
    const Window window{g.kernel[i], g.strides[i], g.padding[i], g.padding[i], 1, attributes.flag("ceil")};
    g.counts.push_back(window_count(g.sizes[i], window));
    const int64_t reach = (g.counts[i] - 1) * g.strides[i] + g.kernel[i];
    g.after.push_back(std::max(g.padding[i], reach - g.sizes[i] - g.padding[i]));
  }
  return g;
}

TfTensor image_of(Lowering& lowering, const GraphNode& node) {
  GraphDefBuilder& out = lowering.out();
  const int64_t rank = lowering.type(node, 0).rank();
  const TfTensor x = lowering.input(node, 0);
  return channels_last(out, rank == 3 ? out.expand_dims(x, 2) : x, std::max<int64_t>(rank, 4));
}

void set_image(Lowering& lowering, const GraphNode& node, const TfTensor& y) {
  const int64_t rank = lowering.type(node, 0).rank();
  const TfTensor first = channels_first(lowering.out(), y, std::max<int64_t>(rank, 4));
  lowering.set(node, rank == 3 ? lowering.out().squeeze(first, {2}) : first);
}

TfTensor pool(GraphDefBuilder& out, const char* name, const TfTensor& x, const Geometry& g, const TfTensor& margin) {
  const TfTensor padded = out.pad(x, framed(0, g.padding, 0), framed(0, g.after, 0), margin);
  const c10::ScalarType dtype = kernel_dtype(name, x.dtype);
  const TfTensor pooled = out.node(name)
                              .input(out.cast(padded, dtype))
                              .type("T", dtype)
                              .integers("ksize", framed(1, g.kernel, 1))
                              .integers("strides", framed(1, g.strides, 1))
                              .text("padding", "VALID")
                              .output(dtype);
  return out.cast(pooled, x.dtype);
}

void lower_max_pool(Lowering& lowering, const GraphNode& node) {
  const Integers& dilations = node.attributes.integers("dilations");
  if (std::any_of(dilations.begin(), dilations.end(), [](int64_t dilation) { return dilation != 1; })) {
    fail(ErrorKind::kUnimplemented, "TensorFlow has no dilations for it");
  }
  const TfTensor x = image_of(lowering, node);
  if (!at::isFloatingType(x.dtype)) fail(ErrorKind::kUnimplemented, "it pools integers");
  const Geometry g = geometry_of(lowering, node);
  const TfTensor lowest = lowering.out().scalar(-std::numeric_limits<double>::infinity(), x.dtype);
  set_image(lowering, node, pool(lowering.out(), g.sizes.size() == 3 ? "MaxPool3D" : "MaxPool", x, g, lowest));
}

// Which part of each window counts, along one axis.
at::Tensor counted_part(const Geometry& g, size_t axis, bool count_padding) {
  at::Tensor parts = at::empty({g.counts[axis]}, at::kDouble);
  const int64_t first = count_padding ? 0 : g.padding[axis];
  const int64_t last = g.padding[axis] + g.sizes[axis] + (count_padding ? g.padding[axis] : 0);
  for (int64_t i = 0; i < g.counts[axis]; ++i) {
    const int64_t begin = std::max(first, i * g.strides[axis]);
    const int64_t end = std::min(last, i * g.strides[axis] + g.kernel[axis]);
    parts[i] = static_cast<double>(end - begin) / static_cast<double>(g.kernel[axis]);
  }
  return parts;
}

// The mean over whole windows, by the part of them that counts.
void lower_average_pool(Lowering& lowering, const GraphNode& node) {
  GraphDefBuilder& out = lowering.out();
  const Geometry g = geometry_of(lowering, node);
  const TfTensor x = image_of(lowering, node);
  TfTensor y = pool(out, g.sizes.size() == 3 ? "AvgPool3D" : "AvgPool", x, g, out.scalar(0, x.dtype));
  at::Tensor parts = at::ones({1}, at::kDouble);
  for (size_t axis = 0; axis < g.sizes.size(); ++axis) {
    parts = parts.unsqueeze(-1) * counted_part(g, axis, node.attributes.flag("count_padding"));
  }
  if (!parts.eq(1).all().item<bool>()) y = out.binary("RealDiv", y, out.constant(parts.unsqueeze(-1).to(x.dtype)));
  set_image(lowering, node, y);
}

}  // namespace

void add_pooling_lowerings(LoweringTable& table) {
  table[Operation::kMaxPool] = lower_max_pool;
  table[Operation::kAveragePool] = lower_average_pool;
}

}  // namespace belfry::internal
