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

template <class Part>
void Lowering::guarded(const GraphNode& node, const Part& part) {
  try {
    part();
  } catch (const c10::Error& error) {
    problems_.push_back({to_string(node.operation), error.what_without_backtrace(), node.place});
  } catch (const std::exception& error) {
    problems_.push_back({to_string(node.operation), error.what(), node.place});
  }
  for (const GraphValue output : node.outputs) {  // what a problem left out, so that the rest can be tried
    tensors_.try_emplace(output.id, Tensor{"", graph_.type(output).dtype});
  }
}

void Lowering::add_inputs() {
  for (const GraphNode& node : graph_.nodes()) {
    if (node.operation != Operation::kInput) continue;
    guarded(node, [&] {
      const GraphType& type = result_type(node);
      const std::string& name = node.attributes.text("name");
      if (type.dtype == kString) fail(ErrorKind::kUnimplemented, "ONNX: no strings, and '", name, "' is of strings");
      tensors_[node.outputs[0].id] = out_.input(out_.reserve(name), type.dtype, dims_of(type, {1}, name));
    });
  }
}

void Lowering::run() {
  for (const size_t i : graph_.live_nodes()) {
    const GraphNode& node = graph_.nodes()[i];
    if (node.operation == Operation::kConstant || node.operation == Operation::kVariable) continue;
    if (node.operation == Operation::kInput) continue;
    out_.set_scope(folder_of(node.place));
    guarded(node, [&] { lower(node); });
  }
  out_.set_scope("");
}

void Lowering::lower(const GraphNode& node) {
  if (node.operation == Operation::kUnsupported) {
    problems_.push_back({node.attributes.text("name"), node.attributes.text("reason"), node.place});
    return;
  }
  const auto found = lowering_table().find(node.operation);
  if (found == lowering_table().end()) fail(ErrorKind::kUnimplemented, "ONNX: no operation computes it");
  found->second(*this, node);
}

std::string Lowering::name_of(GraphValue value) const {
  const GraphNode& node = graph_.producer(value);
  return node.operation == Operation::kVariable ? node.attributes.text("name") : "";
}

Tensor Lowering::of(GraphValue value) {
  const auto found = tensors_.find(value.id);
  if (found != tensors_.end()) return found->second;
  const at::Tensor* tensor = graph_.literal(value);
  if (!tensor) fail(ErrorKind::kInternal, "a value is read before it is made");
  return tensors_[value.id] = out_.constant(*tensor, name_of(value));
}

Tensor Lowering::input(const GraphNode& node, size_t i) { return of(node.inputs.at(i)); }

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

Tensor Lowering::derived(const GraphNode& node, size_t i, const at::Tensor& tensor) {
  auto& made = derived_[node.inputs.at(i).id];
  for (const auto& [other, written] : made) {
    if (other.scalar_type() == tensor.scalar_type() && at::equal(other, tensor)) return written;
  }
  made.emplace_back(tensor, out_.constant(tensor, name_of(node.inputs[i])));
  return made.back().second;
}

Tensor Lowering::as_vector(const GraphNode& node, size_t i) {
  if (const at::Tensor* known = literal(node, i)) return derived(node, i, known->reshape({1}));
  return out_.unsqueeze(input(node, i), {0});
}

void Lowering::set(const GraphNode& node, const Tensor& tensor, size_t output) {
  tensors_[node.outputs.at(output).id] = out_.cast(tensor, result_type(node, output).dtype);
}

}  // namespace belfry::internal::onnx
