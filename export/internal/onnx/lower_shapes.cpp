// Shapes, sizes, and parts of tensors.
#include <ATen/ATen.h>

#include <limits>

#include "export/internal/onnx/kernel_dtype.h"
#include "export/internal/onnx/lowering.h"

namespace belfry::internal::onnx {
namespace {

using Integers = std::vector<int64_t>;

void lower_size(Lowering& lowering, const GraphNode& node) {
  OnnxBuilder& out = lowering.out();
  const Tensor shape = out.shape(lowering.input(node, 0));
  const Tensor axis = out.scalar(node.attributes.integer("axis"), at::kLong);
  lowering.set(node, out.node("Gather", {shape, axis}).integer("axis", 0).output(at::kLong));
}

void lower_stack(Lowering& lowering, const GraphNode& node) {
  const int64_t axis = node.attributes.integer("axis");
  std::vector<Tensor> parts;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const at::Tensor* known = lowering.literal(node, i);
    parts.push_back(known ? lowering.derived(node, i, known->unsqueeze(axis))
                          : lowering.out().unsqueeze(lowering.input(node, i), {axis}));
  }
  lowering.set(node, lowering.out().concatenate(parts, axis));
}

void lower_concatenate(Lowering& lowering, const GraphNode& node) {
  lowering.set(node, lowering.out().concatenate(lowering.inputs(node), node.attributes.integer("axis")));
}

// A size of zero means the operand's own unless it is said to be meant.
void lower_reshape(Lowering& lowering, const GraphNode& node) {
  const Tensor x = lowering.input(node, 0);
  Node reshape = lowering.out().node("Reshape", {x, lowering.input(node, 1)});
  const at::Tensor* shape = lowering.literal(node, 1);
  if (shape && shape->eq(0).any().item<bool>()) reshape.integer("allowzero", 1);
  lowering.set(node, reshape.output(x.dtype));
}

void lower_broadcast(Lowering& lowering, const GraphNode& node) {
  const Tensor x = lowering.input(node, 0, kernel_dtype("Expand", lowering.type(node, 0).dtype));
  lowering.set(node, lowering.out().node("Expand", {x, lowering.input(node, 1)}).output(x.dtype));
}

void lower_transpose(Lowering& lowering, const GraphNode& node) {
  lowering.set(node, lowering.out().transpose(lowering.input(node, 0), node.attributes.integers("permutation")));
}

void lower_squeeze(Lowering& lowering, const GraphNode& node) {
  lowering.set(node, lowering.out().squeeze(lowering.input(node, 0), node.attributes.integers("axes")));
}

void lower_unsqueeze(Lowering& lowering, const GraphNode& node) {
  lowering.set(node, lowering.out().unsqueeze(lowering.input(node, 0), node.attributes.integers("axes")));
}

void lower_split(Lowering& lowering, const GraphNode& node) {
  const auto parts =
      lowering.out().split(lowering.input(node, 0), node.attributes.integers("sizes"), node.attributes.integer("axis"));
  for (size_t i = 0; i < parts.size(); ++i) lowering.set(node, parts[i], i);
}

void lower_slice(Lowering& lowering, const GraphNode& node) {
  OnnxBuilder& out = lowering.out();
  const Tensor x = lowering.input(node, 0);
  const Tensor begin = lowering.as_vector(node, 1);
  const Tensor end = lowering.as_vector(node, 2);
  const Tensor axis = out.int64s({node.attributes.integer("axis")});
  const Tensor step = out.int64s({node.attributes.integer("step")});
  lowering.set(node, out.node("Slice", {x, begin, end, axis, step}).output(x.dtype));
}

void lower_pad(Lowering& lowering, const GraphNode& node) {
  lowering.set(node, lowering.out().pad(lowering.input(node, 0), node.attributes.integers("before"),
                                        node.attributes.integers("after"), lowering.input(node, 1)));
}

void lower_mirror_pad(Lowering& lowering, const GraphNode& node) {
  Integers margins = node.attributes.integers("before");
  const Integers& after = node.attributes.integers("after");
  margins.insert(margins.end(), after.begin(), after.end());
  const Tensor x = lowering.input(node, 0, kernel_dtype("Pad", lowering.type(node, 0).dtype));
  lowering.set(node,
               lowering.out().node("Pad", {x, lowering.out().int64s(margins)}).text("mode", "reflect").output(x.dtype));
}

// Slices from the last one to before the first.
void lower_reverse(Lowering& lowering, const GraphNode& node) {
  OnnxBuilder& out = lowering.out();
  const Integers& axes = node.attributes.integers("axes");
  const Tensor back = out.int64s(Integers(axes.size(), -1));
  const Tensor end = out.int64s(Integers(axes.size(), std::numeric_limits<int64_t>::min()));
  const Tensor x = lowering.input(node, 0);
  lowering.set(node, out.node("Slice", {x, back, end, out.int64s(axes), back}).output(x.dtype));
}

void lower_tile(Lowering& lowering, const GraphNode& node) {
  const Tensor x = lowering.input(node, 0, kernel_dtype("Tile", lowering.type(node, 0).dtype));
  const Tensor repeats = lowering.out().int64s(node.attributes.integers("repeats"));
  lowering.set(node, lowering.out().node("Tile", {x, repeats}).output(x.dtype));
}

// What lies on and above one diagonal, of that what lies on and below another.
void lower_band_part(Lowering& lowering, const GraphNode& node) {
  OnnxBuilder& out = lowering.out();
  Tensor x = lowering.input(node, 0, kernel_dtype("Trilu", lowering.type(node, 0).dtype));
  const auto cut = [&](int64_t diagonal, bool upper) {
    const Tensor place = out.scalar(diagonal, at::kLong);
    x = out.node("Trilu", {x, place}).integer("upper", upper ? 1 : 0).output(x.dtype);
  };
  if (node.attributes.integer("lower") >= 0) cut(-node.attributes.integer("lower"), true);
  if (node.attributes.integer("upper") >= 0) cut(node.attributes.integer("upper"), false);
  lowering.set(node, x);
}

void lower_range(Lowering& lowering, const GraphNode& node) {
  const c10::ScalarType dtype = kernel_dtype("Range", lowering.result_type(node).dtype);
  lowering.set(node, lowering.out().node("Range", lowering.inputs(node, dtype)).output(dtype));
}

}  // namespace

void add_shape_lowerings(LoweringTable& table) {
  table.insert({{Operation::kSize, lower_size},
                {Operation::kStack, lower_stack},
                {Operation::kConcatenate, lower_concatenate},
                {Operation::kReshape, lower_reshape},
                {Operation::kBroadcast, lower_broadcast},
                {Operation::kTranspose, lower_transpose},
                {Operation::kSqueeze, lower_squeeze},
                {Operation::kUnsqueeze, lower_unsqueeze},
                {Operation::kSplit, lower_split},
                {Operation::kSlice, lower_slice},
                {Operation::kPad, lower_pad},
                {Operation::kMirrorPad, lower_mirror_pad},
                {Operation::kReverse, lower_reverse},
                {Operation::kTile, lower_tile},
                {Operation::kBandPart, lower_band_part},
                {Operation::kRange, lower_range}});
}

}  // namespace belfry::internal::onnx
