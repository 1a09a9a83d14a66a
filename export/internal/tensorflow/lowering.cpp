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
  for (const size_t i : graph().live_nodes()) {
    const GraphNode& node = graph().nodes()[i];
    if (is_literal(node.operation)) continue;
    out_.set_scope(folder_of(node.place));
    attempt(node, [&] { lower(node); });
  }
}

void Lowering::lower(const GraphNode& node) {
  if (node.operation == Operation::kInput) {
    const GraphType& type = result_type(node);
    set(node, out_.placeholder(node.attributes.text("name"), type.dtype, type.shape));
    return;
  }
  const auto found = lowering_table().find(node.operation);
  if (found == lowering_table().end()) fail(ErrorKind::kUnimplemented, "no operation of TensorFlow computes it");
  found->second(*this, node);
}

TfTensor Lowering::written(GraphValue value) {
  const GraphNode& node = graph().producer(value);
  const bool is_strings = node.operation == Operation::kStringConstant;
  return is_strings ? out_.constant(node.attributes.strings("strings")) : LoweringBase::written(value);
}

TfTensor Lowering::kernel_input(const GraphNode& node, size_t i, const char* operation) {
  return out_.cast(input(node, i), kernel_dtype(operation, type(node, i).dtype));
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

}  // namespace belfry::internal
