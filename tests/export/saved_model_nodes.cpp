#include "saved_model_nodes.h"

#include <regex>
#include <set>
#include <vector>

#include "tests/testing.h"

namespace belfry::testing {
namespace {

// Attributes without a default, which TensorFlow's loaders insist on.
const std::map<std::string, std::vector<std::string>>& required_attributes() {
  static const std::map<std::string, std::vector<std::string>> required{
      {"Placeholder", {"dtype"}},
      {"Enter", {"T", "frame_name"}},
      {"Merge", {"T", "N"}},
      {"TensorArrayV3", {"dtype", "element_shape"}},
      {"TensorArrayGatherV3", {"dtype", "element_shape"}},
      {"Const", {"dtype", "value"}},
      {"MatMul", {"T"}},
      {"BatchMatMulV2", {"T"}},
      {"Cast", {"SrcT", "DstT"}},
      {"ConcatV2", {"N", "T"}},
      {"Pack", {"N", "T"}},
      {"Unpack", {"num", "T"}},
      {"Split", {"num_split", "T"}},
      {"SplitV", {"num_split", "T"}},
      {"StridedSlice", {"T", "Index"}},
      {"GatherV2", {"Tparams", "Tindices", "Taxis"}},
      {"GatherNd", {"Tparams", "Tindices"}},
      {"TensorScatterUpdate", {"T", "Tindices"}},
      {"TensorScatterAdd", {"T", "Tindices"}},
      {"Conv2D", {"T", "strides", "padding"}},
      {"Conv3D", {"T", "strides", "padding"}},
      {"Conv2DBackpropInput", {"T", "strides", "padding"}},
      {"DepthwiseConv2dNative", {"T", "strides", "padding"}},
      {"MaxPool", {"ksize", "strides", "padding"}},
      {"AvgPool", {"ksize", "strides", "padding", "T"}},
      {"MaxPool3D", {"ksize", "strides", "padding", "T"}},
      {"AvgPool3D", {"ksize", "strides", "padding", "T"}},
      {"MirrorPad", {"T", "mode"}},
      {"Einsum", {"equation", "N", "T"}},
      {"ParseExampleV2",
       {"Tdense", "dense_shapes", "num_sparse", "sparse_types", "ragged_value_types", "ragged_split_types"}},
      {"SparseCross",
       {"N", "hashed_output", "num_buckets", "hash_key", "sparse_types", "dense_types", "out_type", "internal_type"}},
      {"StringToHashBucketFast", {"num_buckets"}},
      {"Bucketize", {"T", "boundaries"}},
      {"HashTableV2", {"key_dtype", "value_dtype"}},
      {"LookupTableFindV2", {"Tin", "Tout"}},
      {"VarHandleOp", {"dtype", "shape"}},
      {"ReadVariableOp", {"dtype"}},
      {"AssignVariableOp", {"dtype"}},
      {"RestoreV2", {"dtypes"}},
      {"SaveV2", {"dtypes"}},
      {"Fill", {"T"}}};
  return required;
}

const std::set<std::string>& without_type() {
  static const std::set<std::string> names{"LoopCond",
                                           "TensorArrayV3",
                                           "TensorArrayGatherV3",
                                           "LogicalAnd",
                                           "LogicalOr",
                                           "LogicalNot",
                                           "Any",
                                           "All",
                                           "Where",
                                           "Range",
                                           "Placeholder",
                                           "Const",
                                           "Cast",
                                           "GatherV2",
                                           "GatherNd",
                                           "VarHandleOp",
                                           "ReadVariableOp",
                                           "AssignVariableOp",
                                           "RestoreV2",
                                           "SaveV2",
                                           "SparseCross",
                                           "NoOp",
                                           "HashTableV2",
                                           "InitializeTableV2",
                                           "InitializeTableFromTextFileV2",
                                           "LookupTableFindV2",
                                           "ParseExampleV2",
                                           "StringToHashBucketFast"};
  return names;
}

void check_tensors(const google::protobuf::Map<std::string, proto::TensorInfo>& tensors,
                   const std::map<std::string, proto::NodeDef>& nodes) {
  CHECK_FALSE(tensors.empty());
  for (const auto& [name, tensor] : tensors) {
    INFO(name << " is " << tensor.name());
    const size_t colon = tensor.name().find(':');
    REQUIRE(colon != std::string::npos);
    CHECK(nodes.contains(tensor.name().substr(0, colon)));
    CHECK(tensor.dtype() != proto::DT_INVALID);
    CHECK(tensor.has_tensor_shape());
  }
}

}  // namespace

std::map<std::string, proto::NodeDef> nodes_of(const proto::MetaGraphDef& meta) {
  std::map<std::string, proto::NodeDef> nodes;
  for (const proto::NodeDef& node : meta.graph_def().node()) nodes[node.name()] = node;
  return nodes;
}

void check_nodes(const proto::MetaGraphDef& meta) {
  const auto nodes = nodes_of(meta);
  CHECK(nodes.size() == static_cast<size_t>(meta.graph_def().node_size()));  // no name comes twice
  for (const auto& [name, node] : nodes) {
    INFO(name << " = " << node.op());
    CHECK(std::regex_match(name, std::regex("[A-Za-z0-9.][A-Za-z0-9_.\\\\/>-]*")));
    if (!without_type().contains(node.op())) CHECK(node.attr().contains("T"));
    const auto required = required_attributes().find(node.op());
    if (required != required_attributes().end()) {
      for (const std::string& attribute : required->second) CHECK(node.attr().contains(attribute));
    }
    for (const std::string& input : node.input()) {
      const std::string source = input.substr(input.starts_with('^') ? 1 : 0);
      CHECK(nodes.contains(source.substr(0, source.find(':'))));
    }
  }
}

void check_signatures(const proto::MetaGraphDef& meta) {
  const auto nodes = nodes_of(meta);
  CHECK_FALSE(meta.signature_def().empty());
  for (const auto& [name, signature] : meta.signature_def()) {
    INFO(name);
    check_tensors(signature.inputs(), nodes);
    check_tensors(signature.outputs(), nodes);
  }
}

}  // namespace belfry::testing
