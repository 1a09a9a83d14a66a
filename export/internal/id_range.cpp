#include "export/internal/id_range.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace belfry::internal {
namespace {

IdRange vocabulary_range(const GraphAttributes& attributes) {
  const int64_t size = attributes.strings("words").numel();
  const int64_t buckets = attributes.integer("buckets");
  if (buckets > 0) return {0, size + buckets};
  const int64_t otherwise = attributes.integer("default");
  return {std::min<int64_t>(otherwise, 0), std::max(otherwise + 1, size)};
}

IdRange joined(IdRange a, IdRange b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

std::optional<IdRange> range_of_all(const Graph& graph, const std::vector<GraphValue>& values) {
  std::optional<IdRange> all;
  for (const GraphValue value : values) {
    const auto one = id_range(graph, value);
    if (!one) return std::nullopt;
    all = all ? joined(*all, *one) : *one;
  }
  return all;
}

}  // namespace

std::optional<IdRange> id_range(const Graph& graph, GraphValue value) {
  const GraphNode& node = graph.producer(value);
  switch (node.operation) {
    case Operation::kHashBucket:
    case Operation::kCrossHash:
      return IdRange{0, node.attributes.integer("buckets")};
    case Operation::kVocabularyLookup:
      return vocabulary_range(node.attributes);
    case Operation::kBucketize:
      return IdRange{0, node.attributes.tensor("boundaries").numel() + 1};
    case Operation::kOneHot:
      return IdRange{0, 2};
    case Operation::kReshape:
    case Operation::kSqueeze:
    case Operation::kUnsqueeze:
    case Operation::kSlice:
    case Operation::kCast:
      return id_range(graph, node.inputs[0]);
    case Operation::kConcatenate:
      return range_of_all(graph, node.inputs);
    default:
      return std::nullopt;
  }
}

}  // namespace belfry::internal
