// Gathering and scattering.
#include <ATen/ATen.h>

#include "export/internal/onnx/kernel_dtype.h"
#include "export/internal/onnx/lowering.h"

namespace belfry::internal::onnx {
namespace {

// Those of an axis: ONNX's operations have LibTorch's meaning, and take indices from the end too.
void lower_along_axis(Lowering& lowering, const GraphNode& node) {
  const char* name = node.operation == Operation::kGather ? "Gather" : "GatherElements";
  lowering.set(node, lowering.out()
                         .node(name, lowering.inputs(node))
                         .integer("axis", node.attributes.integer("axis"))
                         .output(lowering.type(node, 0).dtype));
}

// Adding is arithmetic, replacing is not.
void lower_scatter_elements(Lowering& lowering, const GraphNode& node) {
  const bool adds = node.attributes.contains("reduce");
  const c10::ScalarType given = lowering.type(node, 0).dtype;
  const c10::ScalarType dtype = adds ? kernel_dtype("ScatterElements", given) : given;
  Node scatter = lowering.out().node(
      "ScatterElements", {lowering.input(node, 0, dtype), lowering.input(node, 1), lowering.input(node, 2, dtype)});
  if (adds) scatter.text("reduction", "add");
  lowering.set(node, scatter.integer("axis", node.attributes.integer("axis")).output(dtype));
}

void lower_gather_nd(Lowering& lowering, const GraphNode& node) {
  lowering.set(node, lowering.out().node("GatherND", lowering.inputs(node)).output(lowering.type(node, 0).dtype));
}

// ONNX's has a row for each axis.
void lower_non_zero(Lowering& lowering, const GraphNode& node) {
  OnnxBuilder& out = lowering.out();
  const Tensor rows = out.node("NonZero", {lowering.input(node, 0)}).output(at::kLong);
  lowering.set(node, out.transpose(rows, {1, 0}));
}

void lower_one_hot(Lowering& lowering, const GraphNode& node) {
  OnnxBuilder& out = lowering.out();
  const Tensor depth = out.scalar(node.attributes.integer("depth"), at::kLong);
  lowering.set(node, out.node("OneHot", {lowering.input(node, 0, at::kLong), depth, out.int64s({0, 1})})
                         .integer("axis", -1)
                         .output(at::kLong));
}

}  // namespace

void add_indexing_lowerings(LoweringTable& table) {
  table.insert({{Operation::kGather, lower_along_axis},
                {Operation::kGatherElements, lower_along_axis},
                {Operation::kScatterElements, lower_scatter_elements},
                {Operation::kGatherNd, lower_gather_nd},
                {Operation::kNonZero, lower_non_zero},
                {Operation::kOneHot, lower_one_hot}});
}

}  // namespace belfry::internal::onnx
