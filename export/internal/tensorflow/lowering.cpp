#include "export/internal/tensorflow/lowering.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/error.h"
#include "export/internal/tensorflow/kernel_dtype.h"

namespace belfry::internal {
namespace {

const LoweringTable& lowering_table() {
  static const LoweringTable table = [] {
    LoweringTable all;
    for (const auto add : {add_convolution_lowerings, add_elementwise_lowerings, add_indexing_lowerings,
                           add_layer_lowerings, add_pooling_lowerings, add_recurrent_lowerings, add_reduction_lowerings,
                           add_shape_lowerings, add_string_lowerings}) {
      add(all);
    }
    return all;
  }();
  return table;
}

bool is_literal(Operation operation) {
  return operation == Operation::kConstant || operation == Operation::kVariable ||
         operation == Operation::kStringConstant;
}

}  // namespace

void Lowering::run() {
  for (const size_t i : graph_.live_nodes()) {
    const GraphNode& node = graph_.nodes()[i];
    if (is_literal(node.operation)) continue;
    out_.set_scope(folder_of(node.place));
    try {
      lower(node);
    } catch (const c10::Error& error) {
      problems_.push_back({to_string(node.operation), error.what_without_backtrace(), node.place});
    } catch (const std::exception& error) {
      problems_.push_back({to_string(node.operation), error.what(), node.place});
    }
    for (const GraphValue output : node.outputs) {  // what a problem left out, so that the rest can be tried
      tensors_.try_emplace(output.id, TfTensor{"", graph_.type(output).dtype});
    }
  }
}

void Lowering::lower(const GraphNode& node) {
  if (node.operation == Operation::kUnsupported) {
    problems_.push_back({node.attributes.text("name"), node.attributes.text("reason"), node.place});
    return;
  }
  if (node.operation == Operation::kInput) {
    const GraphType& type = result_type(node);
    set(node, out_.placeholder(node.attributes.text("name"), type.dtype, type.shape));
    return;
  }
  const auto found = lowering_table().find(node.operation);
  if (found == lowering_table().end()) fail(ErrorKind::kUnimplemented, "no operation of TensorFlow computes it");
  found->second(*this, node);
}

std::string Lowering::name_of(GraphValue value) const {
  const GraphNode& node = graph_.producer(value);
  return node.operation == Operation::kVariable ? node.attributes.text("name") : "";
}

TfTensor Lowering::of(GraphValue value) {
  const auto found = tensors_.find(value.id);
  if (found != tensors_.end()) return found->second;
  const GraphNode& node = graph_.producer(value);
  if (node.operation == Operation::kStringConstant) {
    return tensors_[value.id] = out_.constant(node.attributes.strings("strings"));
  }
  const at::Tensor* tensor = graph_.literal(value);
  if (!tensor) fail(ErrorKind::kInternal, "a value is read before it is made");
  return tensors_[value.id] = out_.weight(*tensor, name_of(value));
}

TfTensor Lowering::input(const GraphNode& node, size_t i) { return of(node.inputs.at(i)); }

TfTensor Lowering::kernel_input(const GraphNode& node, size_t i, const char* operation) {
  return out_.cast(input(node, i), kernel_dtype(operation, type(node, i).dtype));
}

TfTensor Lowering::derived(const GraphNode& node, size_t i, const at::Tensor& tensor) {
  auto& made = derived_[node.inputs.at(i).id];
  for (const auto& [other, written] : made) {
    if (other.scalar_type() == tensor.scalar_type() && at::equal(other, tensor)) return written;
  }
  made.emplace_back(tensor, out_.weight(tensor, name_of(node.inputs[i])));
  return made.back().second;
}

TfTensor Lowering::permuted(const GraphNode& node, size_t i, const std::vector<int64_t>& permutation) {
  if (const at::Tensor* known = literal(node, i)) return derived(node, i, known->permute(permutation));
  return out_.transpose(input(node, i), permutation);
}

TfTensor Lowering::asset(const std::string& name, const std::string& bytes) {
  const auto same_file = [&](const TfAsset& other) { return other.name == name && other.bytes == bytes; };
  const auto found = std::find_if(assets_.begin(), assets_.end(), same_file);
  if (found != assets_.end()) return found->path;
  const auto is_taken = [this](const std::string& wanted) {
    return std::any_of(assets_.begin(), assets_.end(), [&](const TfAsset& other) { return other.name == wanted; });
  };
  std::string free = name;
  for (int i = 1; is_taken(free); ++i) free = concat(name, "_", i);
  // The loader feeds the path of the file; what the constant holds is never read.
  const TfTensor path = out_.constant(StringTensor({free}, {}), "asset_path");
  assets_.push_back({free, bytes, path});
  return path;
}

void Lowering::set(const GraphNode& node, const TfTensor& tensor, size_t output) {
  tensors_[node.outputs.at(output).id] = out_.cast(tensor, result_type(node, output).dtype);
}

}  // namespace belfry::internal
