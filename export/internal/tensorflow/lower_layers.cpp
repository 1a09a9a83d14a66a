// Products of matrices, normalization and resizing.
#include <ATen/ATen.h>

#include "export/internal/tensorflow/image_layout.h"
#include "export/internal/tensorflow/kernel_dtype.h"
#include "export/internal/tensorflow/lowering.h"

namespace belfry::internal {
namespace {

TfTensor product(GraphDefBuilder& out, const TfTensor& a, const TfTensor& b, bool matrices, bool transposed) {
  const char* name = matrices ? "MatMul" : "BatchMatMulV2";
  const c10::ScalarType dtype = kernel_dtype(name, a.dtype);
  TfNode node = out.node(name);
  node.input(out.cast(a, dtype)).input(out.cast(b, dtype)).type("T", dtype);
  if (transposed) node.flag(matrices ? "transpose_b" : "adj_y", true);
  return out.cast(node.output(dtype), a.dtype);
}

void lower_linear(Lowering& lowering, const GraphNode& node) {
  GraphDefBuilder& out = lowering.out();
  const int64_t rank = lowering.type(node, 0).rank();
  const TfTensor x = rank == 1 ? out.expand_dims(lowering.input(node, 0), 0) : lowering.input(node, 0);
  TfTensor y = product(out, x, lowering.input(node, 1), rank <= 2, true);
  if (lowering.has_input(node, 2)) y = out.bias_add(y, lowering.input(node, 2));
  lowering.set(node, rank == 1 ? out.squeeze(y, {0}) : y);
}

void lower_matmul(Lowering& lowering, const GraphNode& node) {
  const bool matrices = lowering.type(node, 0).rank() == 2 && lowering.type(node, 1).rank() == 2;
  lowering.set(node, product(lowering.out(), lowering.input(node, 0), lowering.input(node, 1), matrices, false));
}

void lower_einsum(Lowering& lowering, const GraphNode& node) {
  const c10::ScalarType dtype = kernel_dtype("Einsum", lowering.result_type(node).dtype);
  std::vector<TfTensor> operands;
  for (size_t i = 0; i < node.inputs.size(); ++i) operands.push_back(lowering.kernel_input(node, i, "Einsum"));
  TfNode einsum = lowering.out().node("Einsum").inputs(operands);
  lowering.set(node, einsum.text("equation", node.attributes.text("equation"))
                         .integer("N", static_cast<int64_t>(node.inputs.size()))
                         .type("T", dtype)
                         .output(dtype));
}

// x * s + (shift - mean * s), s = scale / sqrt(variance + epsilon): what does not depend on x is folded when the graph
// is loaded.
void lower_batch_normalization(Lowering& lowering, const GraphNode& node) {
  GraphDefBuilder& out = lowering.out();
  const TfTensor epsilon = out.scalar(node.attributes.number("epsilon"), lowering.type(node, 4).dtype);
  const TfTensor root = out.unary("Rsqrt", out.binary("AddV2", lowering.input(node, 4), epsilon));
  TfTensor scale = out.binary("Mul", root, lowering.input(node, 1));
  TfTensor shift = out.binary("Sub", lowering.input(node, 2), out.binary("Mul", lowering.input(node, 3), scale));
  const int64_t rank = lowering.type(node, 0).rank();
  if (rank > 2) {
    std::vector<int64_t> shape(rank - 1, 1);
    shape[0] = -1;
    scale = out.reshape(scale, shape);
    shift = out.reshape(shift, shape);
  }
  lowering.set(node, out.binary("AddV2", out.binary("Mul", lowering.input(node, 0), scale), shift));
}

void lower_layer_normalization(Lowering& lowering, const GraphNode& node) {
  GraphDefBuilder& out = lowering.out();
  const TfTensor x = lowering.input(node, 0);
  std::vector<int64_t> axes;
  for (int64_t i = node.attributes.integer("axes_count"); i > 0; --i) axes.push_back(lowering.type(node, 0).rank() - i);
  const TfTensor mean = out.mean(x, axes);
  const TfTensor variance = out.mean(out.binary("SquaredDifference", x, mean), axes);
  const TfTensor root = out.unary("Rsqrt", out.binary("AddV2", variance, node.attributes.number("epsilon")));
  lowering.set(node, out.binary("Mul", out.binary("Sub", x, mean), root));
}

void lower_resize_nearest(Lowering& lowering, const GraphNode& node) {
  GraphDefBuilder& out = lowering.out();
  const TfTensor x = channels_last(out, lowering.input(node, 0), 4);
  const TfTensor size = out.int32s(node.attributes.integers("size"));
  lowering.set(node, channels_first(out, out.binary("ResizeNearestNeighbor", x, size), 4));
}

// Its result is float32, whatever its operand is.
void lower_resize_linear(Lowering& lowering, const GraphNode& node) {
  GraphDefBuilder& out = lowering.out();
  const TfTensor x = channels_last(out, lowering.input(node, 0), 4);
  const char* placing = node.attributes.flag("align_corners") ? "align_corners" : "half_pixel_centers";
  const TfTensor y = out.node("ResizeBilinear")
                         .input(x)
                         .input(out.int32s(node.attributes.integers("size")))
                         .type("T", x.dtype)
                         .flag(placing, true)
                         .output(at::kFloat);
  lowering.set(node, channels_first(out, out.cast(y, x.dtype), 4));
}

}  // namespace

void add_layer_lowerings(LoweringTable& table) {
  table.insert({{Operation::kLinear, lower_linear},
                {Operation::kMatmul, lower_matmul},
                {Operation::kEinsum, lower_einsum},
                {Operation::kBatchNormalization, lower_batch_normalization},
                {Operation::kLayerNormalization, lower_layer_normalization},
                {Operation::kResizeNearest, lower_resize_nearest},
                {Operation::kResizeLinear, lower_resize_linear}});
}

}  // namespace belfry::internal
