// Products of matrices, normalization and resizing.
#include <ATen/ATen.h>

#include <algorithm>

#include "export/internal/onnx/kernel_dtype.h"
#include "export/internal/onnx/lowering.h"

namespace belfry::internal::onnx {
namespace {

// [in, out] of LibTorch's [out, in].
Tensor transposed_weight(Lowering& lowering, const GraphNode& node, c10::ScalarType dtype) {
  if (const at::Tensor* known = lowering.literal(node, 1)) return lowering.derived(node, 1, known->to(dtype).t());
  return lowering.out().transpose(lowering.input(node, 1, dtype), {1, 0});
}

void lower_linear(Lowering& lowering, const GraphNode& node) {
  OnnxBuilder& out = lowering.out();
  const c10::ScalarType dtype = kernel_dtype("MatMul", lowering.type(node, 0).dtype);
  if (lowering.type(node, 0).rank() == 2 && at::isFloatingType(dtype)) {
    return lowering.set(node, out.node("Gemm", lowering.inputs(node, dtype)).integer("transB", 1).output(dtype));
  }
  const Tensor x = lowering.input(node, 0, dtype);
  const Tensor y = out.node("MatMul", {x, transposed_weight(lowering, node, dtype)}).output(dtype);
  lowering.set(node, lowering.has_input(node, 2) ? out.binary("Add", y, lowering.input(node, 2, dtype)) : y);
}

void lower_matmul(Lowering& lowering, const GraphNode& node) {
  lowering.set(node, lowering.out().binary("MatMul", lowering.input(node, 0), lowering.input(node, 1)));
}

void lower_einsum(Lowering& lowering, const GraphNode& node) {
  std::string equation = node.attributes.text("equation");
  std::erase(equation, ' ');
  const c10::ScalarType dtype = kernel_dtype("Einsum", lowering.result_type(node).dtype);
  lowering.set(node,
               lowering.out().node("Einsum", lowering.inputs(node, dtype)).text("equation", equation).output(dtype));
}

void lower_batch_normalization(Lowering& lowering, const GraphNode& node) {
  const c10::ScalarType dtype = kernel_dtype("BatchNormalization", lowering.type(node, 0).dtype);
  lowering.set(node, lowering.out()
                         .node("BatchNormalization", lowering.inputs(node, dtype))
                         .number("epsilon", node.attributes.number("epsilon"))
                         .output(dtype));
}

// (x - mean) / sqrt(variance + epsilon), for sizes that are not known.
Tensor normalized(Lowering& lowering, const GraphNode& node, const Tensor& x) {
  OnnxBuilder& out = lowering.out();
  std::vector<int64_t> axes;
  for (int64_t i = node.attributes.integer("axes_count"); i > 0; --i) axes.push_back(-i);
  const Tensor centered = out.binary("Sub", x, out.reduce("ReduceMean", x, axes, true));
  const Tensor variance = out.reduce("ReduceMean", out.binary("Mul", centered, centered), axes, true);
  const Tensor scale = out.unary("Sqrt", out.binary("Add", variance, node.attributes.number("epsilon")));
  return out.binary("Div", centered, scale);
}

// ONNX's wants a scale, whose sizes have to be known.
void lower_layer_normalization(Lowering& lowering, const GraphNode& node) {
  OnnxBuilder& out = lowering.out();
  const GraphType& type = lowering.type(node, 0);
  const c10::ScalarType dtype = kernel_dtype("LayerNormalization", type.dtype);
  const Tensor x = lowering.input(node, 0, dtype);
  const int64_t count = node.attributes.integer("axes_count");
  const std::vector<int64_t> sizes(type.shape.end() - count, type.shape.end());
  if (std::find(sizes.begin(), sizes.end(), kFreeSize) != sizes.end() || dtype == at::kDouble) {
    return lowering.set(node, normalized(lowering, node, x));
  }
  lowering.set(node, out.node("LayerNormalization", {x, out.constant(at::ones(sizes, dtype))})
                         .integer("axis", -count)
                         .number("epsilon", node.attributes.number("epsilon"))
                         .output(dtype));
}

// The sizes of batch and channels stay.
Node resize(Lowering& lowering, const GraphNode& node, const char* mode, const char* placing) {
  OnnxBuilder& out = lowering.out();
  const Tensor x = lowering.input(node, 0, kernel_dtype("Resize", lowering.type(node, 0).dtype));
  const Tensor front = out.node("Shape", {x}).integer("start", 0).integer("end", 2).output(at::kLong);
  const Tensor sizes = out.concatenate({front, out.int64s(node.attributes.integers("size"))}, 0);
  const Tensor absent;
  Node resized = out.node("Resize", {x, absent, absent, sizes});
  return resized.text("mode", mode).text("coordinate_transformation_mode", placing);
}

void set_resized(Lowering& lowering, const GraphNode& node, const Node& resized) {
  lowering.set(node, resized.output(kernel_dtype("Resize", lowering.type(node, 0).dtype)));
}

void lower_resize_nearest(Lowering& lowering, const GraphNode& node) {
  set_resized(lowering, node, resize(lowering, node, "nearest", "asymmetric").text("nearest_mode", "floor"));
}

void lower_resize_linear(Lowering& lowering, const GraphNode& node) {
  const char* placing = node.attributes.flag("align_corners") ? "align_corners" : "half_pixel";
  set_resized(lowering, node, resize(lowering, node, "linear", placing));
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

}  // namespace belfry::internal::onnx
