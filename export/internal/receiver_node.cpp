#include "export/internal/receiver_node.h"

#include <ATen/ATen.h>

#include <unordered_map>

#include "core/as_string.h"
#include "core/cross_hash.h"
#include "core/error.h"
#include "core/string_to_hash_bucket.h"
#include "core/vocabulary.h"
#include "data/parse_example.h"
#include "export/internal/parsed_features.h"

namespace belfry::internal {
namespace {

using Values = std::vector<Value>;
using Function = Values (*)(const ReceiverNode& node, const Values& in);

Values run_parse_example(const ReceiverNode& node, const Values& in) {
  Values values;
  for (const auto& [name, value] : parse_example(in.at(0).strings(), node.specs())) values.push_back(value);
  return values;
}

Values run_hash_bucket(const ReceiverNode& node, const Values& in) {
  return {string_to_hash_bucket_fast(in.at(0).strings(), node.attributes().integer("buckets"))};
}

Values run_vocabulary_lookup(const ReceiverNode& node, const Values& in) {
  return {node.vocabulary().lookup(in.at(0).strings())};
}

Values run_cross_hash(const ReceiverNode& node, const Values& in) {
  const auto key = static_cast<uint64_t>(node.attributes().integer("key"));
  return {sparse_cross_hashed(in, node.attributes().integer("buckets"), key)};
}

Values run_bucketize(const ReceiverNode& node, const Values& in) {
  return {
      at::bucketize(in.at(0).tensor(), node.attributes().tensor("boundaries"), /*out_int32=*/false, /*right=*/true)};
}

Values run_as_string(const ReceiverNode&, const Values& in) { return {as_string(in.at(0).tensor())}; }

Values run_string_constant(const ReceiverNode& node, const Values&) { return {node.attributes().strings("strings")}; }
Values run_constant(const ReceiverNode& node, const Values&) { return {node.attributes().tensor("value")}; }

Values run_cast(const ReceiverNode& node, const Values& in) { return {in.at(0).tensor().to(node.type().dtype)}; }

Value reshaped(const Value& x, std::vector<int64_t> shape) {
  if (!x.is_strings()) return x.tensor().reshape(shape);
  int64_t known = 1;
  for (const int64_t size : shape) known *= size == -1 ? 1 : size;
  for (int64_t& size : shape) size = size == -1 ? x.strings().numel() / std::max<int64_t>(known, 1) : size;
  return x.strings().reshape(shape);
}

std::vector<int64_t> numbers_of(const at::Tensor& vector) {
  const at::Tensor flat = vector.contiguous();
  return {flat.const_data_ptr<int64_t>(), flat.const_data_ptr<int64_t>() + flat.numel()};
}

Values run_reshape(const ReceiverNode&, const Values& in) {
  return {reshaped(in.at(0), numbers_of(in.at(1).tensor()))};
}

Values run_squeeze(const ReceiverNode& node, const Values& in) {
  std::vector<int64_t> shape = in.at(0).sizes();
  const auto& axes = node.attributes().integers("axes");
  for (size_t i = axes.size(); i-- > 0;) shape.erase(shape.begin() + axes[i]);
  return {reshaped(in[0], shape)};
}

Values run_unsqueeze(const ReceiverNode& node, const Values& in) {
  std::vector<int64_t> shape = in.at(0).sizes();
  for (const int64_t axis : node.attributes().integers("axes")) shape.insert(shape.begin() + axis, 1);
  return {reshaped(in[0], shape)};
}

at::Tensor places(const Value& x) { return at::arange(static_cast<int64_t>(x.strings().numel())).reshape(x.sizes()); }

// Strings at places of the flat tensor.
StringTensor strings_at(const std::vector<std::string>& all, const at::Tensor& at) {
  std::vector<std::string> taken;
  for (const int64_t place : numbers_of(at)) taken.push_back(all.at(place));
  return {std::move(taken), at.sizes().vec()};
}

// Moves strings as LibTorch moves their places.
template <class Move>
Value moved(const Values& in, const Move& move) {
  std::vector<at::Tensor> tensors;
  std::vector<std::string> all;
  for (const Value& value : in) {
    if (!value.is_strings()) {
      tensors.push_back(value.tensor());
      continue;
    }
    tensors.push_back(places(value) + static_cast<int64_t>(all.size()));
    all.insert(all.end(), value.strings().begin(), value.strings().end());
  }
  const at::Tensor result = move(tensors);
  return in.at(0).is_strings() ? Value(strings_at(all, result)) : Value(result);
}

Values run_concatenate(const ReceiverNode& node, const Values& in) {
  const int64_t axis = node.attributes().integer("axis");
  return {moved(in, [&](const std::vector<at::Tensor>& tensors) { return at::cat(tensors, axis); })};
}

Values run_slice(const ReceiverNode& node, const Values& in) {
  const auto cut = [&](const std::vector<at::Tensor>& tensors) {
    return tensors[0].slice(node.attributes().integer("axis"), tensors[1].item<int64_t>(), tensors[2].item<int64_t>(),
                            node.attributes().integer("step"));
  };
  return {moved(in, cut)};
}

Values run_gather(const ReceiverNode& node, const Values& in) {
  const int64_t axis = node.attributes().integer("axis");
  const auto take = [&](const std::vector<at::Tensor>& tensors) {
    std::vector<int64_t> shape = tensors[0].sizes().vec();
    shape.erase(shape.begin() + axis);
    shape.insert(shape.begin() + axis, tensors[1].sizes().begin(), tensors[1].sizes().end());
    return tensors[0].index_select(axis, tensors[1].reshape({-1})).reshape(shape);
  };
  return {moved(in, take)};
}

// Zeros for what is out of range.
Values run_one_hot(const ReceiverNode& node, const Values& in) {
  const int64_t depth = node.attributes().integer("depth");
  require(in.at(0).tensor().numel() <= kMostReceiverValues / depth, "one_hot of depth ", depth, " of ",
          in[0].tensor().numel(), " ids");
  const at::Tensor classes = at::arange(depth);
  return {in.at(0).tensor().unsqueeze(-1).eq(classes).to(at::kLong)};
}

const std::unordered_map<Operation, Function>& functions() {
  static const std::unordered_map<Operation, Function> table{{Operation::kParseExample, run_parse_example},
                                                             {Operation::kHashBucket, run_hash_bucket},
                                                             {Operation::kVocabularyLookup, run_vocabulary_lookup},
                                                             {Operation::kCrossHash, run_cross_hash},
                                                             {Operation::kBucketize, run_bucketize},
                                                             {Operation::kAsString, run_as_string},
                                                             {Operation::kStringConstant, run_string_constant},
                                                             {Operation::kConstant, run_constant},
                                                             {Operation::kCast, run_cast},
                                                             {Operation::kReshape, run_reshape},
                                                             {Operation::kSqueeze, run_squeeze},
                                                             {Operation::kUnsqueeze, run_unsqueeze},
                                                             {Operation::kConcatenate, run_concatenate},
                                                             {Operation::kSlice, run_slice},
                                                             {Operation::kGather, run_gather},
                                                             {Operation::kOneHot, run_one_hot}};
  return table;
}

}  // namespace

Vocabulary vocabulary_of(const GraphAttributes& attributes) {
  return Vocabulary(attributes.strings("words").to_vector(),
                    {.num_oov_buckets = attributes.integer("buckets"), .default_value = attributes.integer("default")});
}

void require_runs_in_receiver(Operation operation) {
  if (operation == Operation::kInput || functions().contains(operation)) return;
  fail(ErrorKind::kUnimplemented, "receiver: ", to_string(operation),
       " is no work on strings and examples; it belongs into the model");
}

ReceiverNode::ReceiverNode(const Graph& graph, const GraphNode& node) : graph_(&graph), node_(&node) {
  require_runs_in_receiver(node.operation);
  if (node.operation == Operation::kParseExample) {
    std::vector<GraphType> types;
    for (const GraphValue output : node.outputs) types.push_back(graph.type(output));
    specs_ = parsed_features(node.attributes, types);
  }
  if (node.operation == Operation::kVocabularyLookup) vocabulary_ = vocabulary_of(node.attributes);
}

std::vector<Value> ReceiverNode::run(const std::vector<Value>& inputs) const {
  const Values outputs = functions().at(node_->operation)(*this, inputs);
  for (const Value& output : outputs) {
    const int64_t count = output.is_strings() ? output.strings().numel() : output.tensor().numel();
    require(count <= kMostReceiverValues, "it has ", count, " values, more than ", kMostReceiverValues);
  }
  return outputs;
}

}  // namespace belfry::internal
