// What the operations of a receiver's graph compute, in C++.
#pragma once

#include <optional>
#include <vector>

#include "core/tensor_dict.h"
#include "core/vocabulary.h"
#include "data/feature_spec.h"
#include "export/graph/graph.h"

namespace belfry::internal {

// A description of a few bytes may ask for any number of values: no tensor of a receiver has more than these, which is
// far beyond the features of any batch.
inline constexpr int64_t kMostReceiverValues = int64_t{1} << 28;

// kUnimplemented for an operation that a receiver's graph cannot have.
void require_runs_in_receiver(Operation operation);

// The vocabulary of a kVocabularyLookup.
Vocabulary vocabulary_of(const GraphAttributes& attributes);

// A node with what is made of its attributes once. The graph has to live as long. Threads may share it.
class ReceiverNode {
 public:
  // kUnimplemented for an operation that a receiver cannot have.
  ReceiverNode(const Graph& graph, const GraphNode& node);

  const GraphNode& node() const { return *node_; }
  const GraphAttributes& attributes() const { return node_->attributes; }
  const GraphType& type(size_t output = 0) const { return graph_->type(node_->outputs.at(output)); }
  const Vocabulary& vocabulary() const { return *vocabulary_; }
  const FeatureSpecs& specs() const { return specs_; }

  // Its outputs; not of kInput. kInvalidArgument for examples that do not fit the spec, and for too many values.
  std::vector<Value> run(const std::vector<Value>& inputs) const;

 private:
  const Graph* graph_;
  const GraphNode* node_;
  std::optional<Vocabulary> vocabulary_;  // of a kVocabularyLookup
  FeatureSpecs specs_;                    // of a kParseExample
};

}  // namespace belfry::internal
