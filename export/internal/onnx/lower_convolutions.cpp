// Convolutions, whose layouts ONNX shares with LibTorch.
#include <ATen/ATen.h>

#include "export/internal/onnx/kernel_dtype.h"
#include "export/internal/onnx/lowering.h"

namespace belfry::internal::onnx {
namespace {

using Integers = std::vector<int64_t>;

Node window_node(Lowering& lowering, const GraphNode& node, const char* name, const char* before, const char* after) {
  const GraphAttributes& attributes = node.attributes;
  Integers pads = attributes.integers(before);
  pads.insert(pads.end(), attributes.integers(after).begin(), attributes.integers(after).end());
  return lowering.out()
      .node(name, lowering.inputs(node, kernel_dtype(name, lowering.type(node, 0).dtype)))
      .integers("strides", attributes.integers("strides"))
      .integers("pads", pads)
      .integers("dilations", attributes.integers("dilations"))
      .integer("group", attributes.integer("groups"));
}

void lower_convolution(Lowering& lowering, const GraphNode& node) {
  const c10::ScalarType dtype = kernel_dtype("Conv", lowering.type(node, 0).dtype);
  lowering.set(node, window_node(lowering, node, "Conv", "before", "after").output(dtype));
}

void lower_transposed_convolution(Lowering& lowering, const GraphNode& node) {
  const c10::ScalarType dtype = kernel_dtype("ConvTranspose", lowering.type(node, 0).dtype);
  lowering.set(node, window_node(lowering, node, "ConvTranspose", "padding", "padding")
                         .integers("output_padding", node.attributes.integers("output_padding"))
                         .output(dtype));
}

}  // namespace

void add_convolution_lowerings(LoweringTable& table) {
  table[Operation::kConvolution] = lower_convolution;
  table[Operation::kTransposedConvolution] = lower_transposed_convolution;
}

}  // namespace belfry::internal::onnx
