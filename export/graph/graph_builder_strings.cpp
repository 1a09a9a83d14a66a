#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "export/graph/graph_builder.h"

namespace belfry {
namespace {

void require_strings(const GraphType& type, const char* what) {
  require(type.dtype == kString, what, " of ", to_string(type), ", which are no strings");
}

void require_buckets(int64_t buckets, const char* what) {
  require(buckets > 0, what, ": ", buckets, " buckets, and at least one is needed");
}

struct ParsedFeature {
  GraphType type;
  int64_t length = -1;  // of a VarLenFeature
  std::optional<Value> otherwise;
};

ParsedFeature parsed(const FixedLenFeature& feature) {
  GraphType type{feature.dtype, feature.shape};
  type.shape.insert(type.shape.begin(), kFreeSize);
  return {type, -1, feature.default_value};
}

ParsedFeature parsed(const VarLenFeature& feature) {
  const Value padding = feature.padding            ? *feature.padding
                        : feature.dtype == kString ? Value(StringTensor({""}, {}))
                                                   : Value(at::zeros({}, at::TensorOptions(feature.dtype)));
  return {{feature.dtype, {kFreeSize, feature.length}}, feature.length, padding};
}

GraphAttributes::Attribute attribute_of(const Value& value) {
  if (value.is_strings()) return value.strings();
  return value.tensor();
}

}  // namespace

GraphValue GraphBuilder::strings(const StringTensor& value) {
  return single(Operation::kStringConstant, {}, {{"strings", value}}, {kString, value.sizes()});
}

std::vector<GraphValue> GraphBuilder::parse_example(GraphValue serialized, const FeatureSpecs& features) {
  require_strings(type(serialized), "parsing of examples");
  require(rank(serialized) == 1, "parsing of examples: ", to_string(type(serialized)), " instead of [batch]");
  check(features);
  std::vector<std::string> keys;
  std::vector<int64_t> lengths;
  std::vector<GraphType> types;
  GraphAttributes attributes;
  for (const auto& [key, spec] : features) {
    const ParsedFeature feature = std::visit([](const auto& given) { return parsed(given); }, spec);
    if (feature.otherwise) attributes.set(concat("default_", keys.size()), attribute_of(*feature.otherwise));
    keys.push_back(key);
    lengths.push_back(feature.length);
    types.push_back(feature.type);
  }
  attributes.set("keys", StringTensor(keys));
  attributes.set("lengths", lengths);
  return node(Operation::kParseExample, {serialized}, attributes, types);
}

GraphValue GraphBuilder::hash_bucket(GraphValue strings, int64_t buckets) {
  require_strings(type(strings), "hash buckets");
  require_buckets(buckets, "hash buckets");
  return single(Operation::kHashBucket, {strings}, {{"buckets", buckets}}, {at::kLong, type(strings).shape});
}

GraphValue GraphBuilder::vocabulary_lookup(GraphValue strings, const Vocabulary& vocabulary) {
  require_strings(type(strings), "lookup in a vocabulary");
  return single(Operation::kVocabularyLookup, {strings},
                {{"words", StringTensor(vocabulary.words())},
                 {"file", vocabulary.base_name()},
                 {"buckets", vocabulary.num_oov_buckets()},
                 {"default", vocabulary.default_value()}},
                {at::kLong, type(strings).shape});
}

GraphValue GraphBuilder::cross_hash(const std::vector<GraphValue>& columns, int64_t buckets, uint64_t hash_key) {
  require(columns.size() > 1, "a cross of ", columns.size(), " columns, and two are needed");
  require_buckets(buckets, "a cross");
  int64_t count = 1;
  for (const GraphValue column : columns) {
    const GraphType& given = type(column);
    const bool fits = (given.dtype == kString || given.dtype == at::kLong) && given.rank() == 2;
    require(fits && given.shape[1] != kFreeSize, "a cross of ", to_string(given),
            ": strings or int64 of shape [batch, n] are needed");
    count *= given.shape[1];
  }
  return single(Operation::kCrossHash, columns, {{"buckets", buckets}, {"key", static_cast<int64_t>(hash_key)}},
                {at::kLong, {type(columns[0]).shape[0], count}});
}

GraphValue GraphBuilder::bucketize(GraphValue x, const std::vector<float>& boundaries) {
  require(type(x).dtype == at::kFloat, "buckets of ", to_string(type(x)), ", which are not float32");
  require(!boundaries.empty() && std::is_sorted(boundaries.begin(), boundaries.end(), std::less_equal<>()),
          "buckets: boundaries have to ascend, and there has to be one");
  return single(Operation::kBucketize, {x}, {{"boundaries", at::tensor(boundaries)}}, {at::kLong, type(x).shape});
}

GraphValue GraphBuilder::as_string(GraphValue x) {
  require(type(x).dtype == at::kLong, "digits of ", to_string(type(x)), ", which is not int64");
  return single(Operation::kAsString, {x}, {}, {kString, type(x).shape});
}

}  // namespace belfry
