// Shapes, sizes, and parts of tensors.
#include <ATen/ATen.h>

#include <limits>

#include "export/internal/tensorflow/lowering.h"

namespace belfry::internal {
namespace {

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

void lower_size(Lowering& lowering, const GraphNode& node) {
  GraphDefBuilder& out = lowering.out();
  const int64_t axis = node.attributes.integer("axis");
  const TfTensor shape = out.shape(lowering.input(node, 0));
  lowering.set(node, out.node("StridedSlice")
                         .inputs({shape, out.int64s({axis}), out.int64s({axis + 1}), out.int64s({1})})
                         .type("T", at::kLong)
                         .type("Index", at::kLong)
                         .integer("shrink_axis_mask", 1)
                         .output(at::kLong));
}

std::vector<TfTensor> inputs_of(Lowering& lowering, const GraphNode& node) {
  std::vector<TfTensor> tensors;
  for (size_t i = 0; i < node.inputs.size(); ++i) tensors.push_back(lowering.input(node, i));
  return tensors;
}

void lower_stack(Lowering& lowering, const GraphNode& node) {
  lowering.set(node, lowering.out().pack(inputs_of(lowering, node), node.attributes.integer("axis")));
}

void lower_concatenate(Lowering& lowering, const GraphNode& node) {
  lowering.set(node, lowering.out().concatenate(inputs_of(lowering, node), node.attributes.integer("axis")));
}

void lower_reshape(Lowering& lowering, const GraphNode& node) {
  const TfTensor x = lowering.input(node, 0);
  lowering.set(node, lowering.out()
                         .node("Reshape")
                         .input(x)
                         .input(lowering.input(node, 1))
                         .type("T", x.dtype)
                         .type("Tshape", at::kLong)
                         .output(x.dtype));
}

void lower_broadcast(Lowering& lowering, const GraphNode& node) {
  const TfTensor x = lowering.input(node, 0);
  lowering.set(node, lowering.out()
                         .node("BroadcastTo")
                         .input(x)
                         .input(lowering.input(node, 1))
                         .type("T", x.dtype)
                         .type("Tidx", at::kLong)
                         .output(x.dtype));
}

void lower_transpose(Lowering& lowering, const GraphNode& node) {
  lowering.set(node, lowering.out().transpose(lowering.input(node, 0), node.attributes.integers("permutation")));
}

void lower_squeeze(Lowering& lowering, const GraphNode& node) {
  lowering.set(node, lowering.out().squeeze(lowering.input(node, 0), node.attributes.integers("axes")));
}

void lower_unsqueeze(Lowering& lowering, const GraphNode& node) {
  TfTensor x = lowering.input(node, 0);
  for (const int64_t axis : node.attributes.integers("axes")) x = lowering.out().expand_dims(x, axis);
  lowering.set(node, x);
}

void lower_split(Lowering& lowering, const GraphNode& node) {
  GraphDefBuilder& out = lowering.out();
  const TfTensor x = lowering.input(node, 0);
  const auto& sizes = node.attributes.integers("sizes");
  const TfNode split = out.node("SplitV")
                           .inputs({x, out.int64s(sizes), out.int32(node.attributes.integer("axis"))})
                           .integer("num_split", static_cast<int64_t>(sizes.size()))
                           .type("T", x.dtype);
  for (size_t i = 0; i < sizes.size(); ++i) lowering.set(node, split.output(x.dtype, static_cast<int>(i)), i);
}

// The bound of one axis among zeros for the others, which masks make whole.
TfTensor bounds(Lowering& lowering, const GraphNode& node, size_t input, int64_t rank, int64_t axis) {
  GraphDefBuilder& out = lowering.out();
  if (const at::Tensor* known = lowering.literal(node, input)) {
    std::vector<int64_t> numbers(rank, 0);
    numbers.at(axis) = known->item<int64_t>();
    return out.int64s(numbers);
  }
  std::vector<TfTensor> numbers(rank, out.scalar(0, at::kLong));
  numbers.at(axis) = lowering.input(node, input);
  return out.pack(numbers, 0);
}

void lower_slice(Lowering& lowering, const GraphNode& node) {
  GraphDefBuilder& out = lowering.out();
  const TfTensor x = lowering.input(node, 0);
  const int64_t rank = lowering.type(node, 0).rank();
  const int64_t axis = node.attributes.integer("axis");
  std::vector<int64_t> steps(rank, 1);
  steps.at(axis) = node.attributes.integer("step");
  const int64_t this_one = int64_t{1} << axis;
  const int64_t others = ((int64_t{1} << rank) - 1) & ~this_one;
  const at::Tensor* end = lowering.literal(node, 2);
  const bool to_end = end && end->item<int64_t>() == kEnd;
  TfNode slice = out.node("StridedSlice");
  slice.inputs({x, bounds(lowering, node, 1, rank, axis), bounds(lowering, node, 2, rank, axis), out.int64s(steps)});
  slice.type("T", x.dtype).type("Index", at::kLong).integer("begin_mask", others);
  lowering.set(node, slice.integer("end_mask", to_end ? others | this_one : others).output(x.dtype));
}

void lower_pad(Lowering& lowering, const GraphNode& node) {
  lowering.set(node, lowering.out().pad(lowering.input(node, 0), node.attributes.integers("before"),
                                        node.attributes.integers("after"), lowering.input(node, 1)));
}

void lower_mirror_pad(Lowering& lowering, const GraphNode& node) {
  GraphDefBuilder& out = lowering.out();
  const TfTensor x = lowering.input(node, 0);
  const at::Tensor margins = at::stack({at::tensor(node.attributes.integers("before"), at::kLong),
                                        at::tensor(node.attributes.integers("after"), at::kLong)},
                                       1);
  lowering.set(node, out.node("MirrorPad")
                         .input(x)
                         .input(out.constant(margins.to(at::kInt)))
                         .type("T", x.dtype)
                         .text("mode", "REFLECT")
                         .output(x.dtype));
}

void lower_reverse(Lowering& lowering, const GraphNode& node) {
  const TfTensor axes = lowering.out().int32s(node.attributes.integers("axes"));
  lowering.set(node, lowering.out().binary("ReverseV2", lowering.input(node, 0), axes));
}

void lower_tile(Lowering& lowering, const GraphNode& node) {
  const TfTensor repeats = lowering.out().int32s(node.attributes.integers("repeats"));
  lowering.set(node, lowering.out().binary("Tile", lowering.input(node, 0), repeats));
}

void lower_band_part(Lowering& lowering, const GraphNode& node) {
  GraphDefBuilder& out = lowering.out();
  const TfTensor x = lowering.input(node, 0);
  const TfTensor lower = out.scalar(node.attributes.integer("lower"), at::kLong);
  const TfTensor upper = out.scalar(node.attributes.integer("upper"), at::kLong);
  lowering.set(node, out.node("MatrixBandPart").inputs({x, lower, upper}).type("T", x.dtype).output(x.dtype));
}

void lower_range(Lowering& lowering, const GraphNode& node) {
  std::vector<TfTensor> bounds;
  for (size_t i = 0; i < node.inputs.size(); ++i) bounds.push_back(lowering.kernel_input(node, i, "Range"));
  const c10::ScalarType dtype = bounds[0].dtype;
  lowering.set(node, lowering.out().node("Range").inputs(bounds).type("Tidx", dtype).output(dtype));
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

}  // namespace belfry::internal
