#include "export/internal/onnx/lowering.h"

#include <ATen/ATen.h>

#include "core/error.h"
#include "export/internal/onnx/batch_axes.h"

namespace belfry::internal::onnx {
namespace {

const LoweringTable& lowering_table() {
  static const LoweringTable table = [] {
    LoweringTable all;
    for (const auto add :
         {add_bitwise_lowerings, add_composed_lowerings, add_convolution_lowerings, add_elementwise_lowerings,
          add_indexing_lowerings, add_layer_lowerings, add_pooling_lowerings, add_recurrent_lowerings,
          add_reduction_lowerings, add_shape_lowerings}) {
      add(all);
    }
    return all;
  }();
  return table;
}

}  // namespace

void Lowering::add_inputs() {
  for (const GraphNode& node : graph().nodes()) {
    if (node.operation != Operation::kInput) continue;
    attempt(node, [&] {
      const GraphType& type = result_type(node);
      const std::string& name = node.attributes.text("name");
      if (type.dtype == kString) fail(ErrorKind::kUnimplemented, "ONNX: no strings, and '", name, "' is of strings");
      set(node, out_.input(out_.reserve(name), type.dtype, dims_of(type, {1}, name)));
    });
  }
}

void Lowering::run() {
  for (const size_t i : graph().live_nodes()) {
    const GraphNode& node = graph().nodes()[i];
    if (node.operation == Operation::kConstant || node.operation == Operation::kVariable) continue;
    if (node.operation == Operation::kInput) continue;
    out_.set_scope(folder_of(node.place));
    attempt(node, [&] { lower(node); });
  }
  out_.set_scope("");
}

void Lowering::lower(const GraphNode& node) {
  const auto found = lowering_table().find(node.operation);
  if (found == lowering_table().end()) fail(ErrorKind::kUnimplemented, "ONNX: no operation computes it");
  found->second(*this, node);
}

Tensor Lowering::input(const GraphNode& node, size_t i, c10::ScalarType dtype) {
  const at::Tensor* known = literal(node, i);
  if (known && known->scalar_type() != dtype) return derived(node, i, known->to(dtype));
  return out_.cast(input(node, i), dtype);
}

std::vector<Tensor> Lowering::inputs(const GraphNode& node) {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < node.inputs.size(); ++i) tensors.push_back(input(node, i));
  return tensors;
}

std::vector<Tensor> Lowering::inputs(const GraphNode& node, c10::ScalarType dtype) {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < node.inputs.size(); ++i) tensors.push_back(input(node, i, dtype));
  return tensors;
}

Tensor Lowering::as_vector(const GraphNode& node, size_t i) {
  if (const at::Tensor* known = literal(node, i)) return derived(node, i, known->reshape({1}));
  return out_.unsqueeze(input(node, i), {0});
}

}  // namespace belfry::internal::onnx
