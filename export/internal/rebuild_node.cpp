#include "export/internal/rebuild_node.h"

#include <ATen/ATen.h>

#include <unordered_map>

#include "core/error.h"
#include "export/internal/check_tensor_spec.h"
#include "export/internal/parsed_features.h"
#include "export/internal/receiver_node.h"

namespace belfry::internal {
namespace {

using Values = std::vector<GraphValue>;

struct Given {
  GraphBuilder& graph;
  const Values& inputs;
  const GraphAttributes& attributes;
  const std::vector<GraphType>& types;

  GraphValue x() const { return inputs.at(0); }
  const GraphType& type() const { return types.at(0); }
};

using Rebuild = Values (*)(const Given& given);

constexpr int64_t kMostValues = int64_t{1} << 24;  // of a row: far beyond any use, and nothing that exhausts memory

void require_few(int64_t count) {
  require(count > 0 && count <= kMostValues, count, " values a row, of 1 to ", kMostValues);
}

Values input(const Given& given) {
  const std::string& name = given.attributes.text("name");
  check_tensor_spec(name, {.dtype = given.type().dtype, .shape = given.type().shape}, /*strings_too=*/true);
  return {given.graph.input(name, given.type())};
}

Values parse_example(const Given& given) {
  const FeatureSpecs specs = parsed_features(given.attributes, given.types);
  for (const GraphType& type : given.types) {
    for (const int64_t size : type.shape) require_few(size == kFreeSize ? 1 : size);
  }
  return given.graph.parse_example(given.x(), specs);
}

Values vocabulary_lookup(const Given& given) {
  return {given.graph.vocabulary_lookup(given.x(), vocabulary_of(given.attributes))};
}

Values cross_hash(const Given& given) {
  require_few(given.type().shape.at(1));
  return {given.graph.cross_hash(given.inputs, given.attributes.integer("buckets"),
                                 static_cast<uint64_t>(given.attributes.integer("key")))};
}

Values bucketize(const Given& given) {
  const at::Tensor& tensor = given.attributes.tensor("boundaries");
  require(tensor.scalar_type() == at::kFloat && tensor.dim() == 1, "boundaries that are no float vector");
  const auto* floats = tensor.const_data_ptr<float>();
  return {given.graph.bucketize(given.x(), {floats, floats + tensor.numel()})};
}

Values reshape(const Given& given) {
  const at::Tensor* shape = given.graph.graph().literal(given.inputs.at(1));
  require(shape && shape->scalar_type() == at::kLong && shape->dim() == 1, "a reshape to a shape that is not known");
  Extents sizes;
  for (int64_t i = 0; i < shape->numel(); ++i) sizes.emplace_back(shape->const_data_ptr<int64_t>()[i]);
  return {given.graph.reshape(given.x(), sizes)};
}

Values slice(const Given& given) {
  const auto number = [&](size_t i) {
    const at::Tensor* literal = given.graph.graph().literal(given.inputs.at(i));
    require(literal && literal->scalar_type() == at::kLong && literal->numel() == 1, "a slice to an unknown place");
    return *literal->const_data_ptr<int64_t>();
  };
  const int64_t step = given.attributes.integer("step");
  require(step > 0, "a slice in steps of ", step);
  return {given.graph.slice(given.x(), given.attributes.integer("axis"), number(1), number(2), step)};
}

Values one_hot(const Given& given) {
  require_few(given.attributes.integer("depth"));
  require(given.graph.type(given.x()).dtype == at::kLong, "one_hot of no ids");
  return {given.graph.one_hot(given.x(), given.attributes.integer("depth"))};
}

Values unsqueeze(const Given& given) {
  GraphValue x = given.x();
  for (const int64_t axis : given.attributes.integers("axes")) x = given.graph.unsqueeze(x, axis);
  return {x};
}

Values gather(const Given& given) {
  require(given.graph.type(given.inputs.at(1)).dtype == at::kLong, "gathering by no ids");
  return {given.graph.gather(given.x(), given.inputs[1], given.attributes.integer("axis"))};
}

Values concatenate(const Given& given) {
  require(!given.inputs.empty(), "a concatenation of nothing");
  return {given.graph.concatenate(given.inputs, given.attributes.integer("axis"))};
}

Values cast(const Given& given) {
  require(given.graph.type(given.x()).dtype != kString && given.type().dtype != kString, "a cast of strings");
  return {given.graph.cast(given.x(), given.type().dtype)};
}

const std::unordered_map<Operation, Rebuild>& rebuilds() {
  static const std::unordered_map<Operation, Rebuild> table{
      {Operation::kInput, input},
      {Operation::kParseExample, parse_example},
      {Operation::kVocabularyLookup, vocabulary_lookup},
      {Operation::kCrossHash, cross_hash},
      {Operation::kBucketize, bucketize},
      {Operation::kReshape, reshape},
      {Operation::kSlice, slice},
      {Operation::kOneHot, one_hot},
      {Operation::kUnsqueeze, unsqueeze},
      {Operation::kGather, gather},
      {Operation::kConcatenate, concatenate},
      {Operation::kCast, cast},
      {Operation::kHashBucket,
       [](const Given& given) -> Values {
         return {given.graph.hash_bucket(given.x(), given.attributes.integer("buckets"))};
       }},
      {Operation::kSqueeze,
       [](const Given& given) -> Values {
         return {given.graph.squeeze(given.x(), given.attributes.integers("axes"))};
       }},
      {Operation::kAsString, [](const Given& given) -> Values { return {given.graph.as_string(given.x())}; }},
      {Operation::kConstant,
       [](const Given& given) -> Values { return {given.graph.constant(given.attributes.tensor("value"))}; }},
      {Operation::kStringConstant,
       [](const Given& given) -> Values { return {given.graph.strings(given.attributes.strings("strings"))}; }}};
  return table;
}

}  // namespace

std::vector<GraphValue> rebuild_node(GraphBuilder& graph, Operation operation, const std::vector<GraphValue>& inputs,
                                     const GraphAttributes& attributes, const std::vector<GraphType>& types) {
  const auto found = rebuilds().find(operation);
  if (found == rebuilds().end()) fail(ErrorKind::kDataLoss, "no receiver computes ", to_string(operation));
  const Values values = found->second({graph, inputs, attributes, types});
  bool same = values.size() == types.size();
  for (size_t i = 0; same && i < values.size(); ++i) same = graph.type(values[i]) == types[i];
  if (!same) fail(ErrorKind::kDataLoss, to_string(operation), " has other types than its inputs give");
  return values;
}

}  // namespace belfry::internal
