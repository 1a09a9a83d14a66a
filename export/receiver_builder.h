// Work on strings and examples between what a served model takes and what model_fn computes from.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph_builder.h"
#include "serving_input_receiver.h"

namespace belfry {

// Describes a receiver step by step:
//
//   ReceiverBuilder receiver;
//   const GraphValue word = receiver.input("word", {.dtype = kString, .shape = {-1, 1}});
//   receiver.set_feature("word_id", receiver.graph().vocabulary_lookup(word, words));
//   return std::move(receiver).build();
//
// What is computed here stands in the SavedModel's graph, in front of the model. TorchScript and ONNX have no strings:
// they take the features, and Predictor does this work for them. For one thread.
class ReceiverBuilder {
 public:
  // A tensor that the served model takes; kString is a dtype too. The errors are those of ServingInputReceiver.
  GraphValue input(const std::string& name, const TensorSpec& spec);
  // The operations: parse_example, hash_bucket, vocabulary_lookup, cross_hash, bucketize, as_string, cast, reshape,
  // squeeze, unsqueeze, concatenate, slice, one_hot, and gather of constants. Others are refused by build().
  GraphBuilder& graph() { return graph_; }

  // Replaces or appends. Integers are tried while tracing with values that the operation can give, or with 0 and 1
  // where nothing is known of them; [low, high) says otherwise.
  void set_feature(const std::string& name, GraphValue value);
  void set_feature(const std::string& name, GraphValue value, int64_t low, int64_t high);
  // kNotFound, with the names there are, when there is none.
  GraphValue feature(const std::string& name) const;
  void erase_feature(const std::string& name);

  // Tensors that a request may give in place of the inputs (receiver_tensors_alternatives): the signatures are served a
  // second time as NAME:SIGNATURE, with these. Each feature has to be computable from them. In a SavedModel alone.
  // kAlreadyExists for a name that comes twice.
  void add_alternative(const std::string& name, const std::vector<std::pair<std::string, GraphValue>>& tensors);

  // kInvalidArgument: no features; a feature of strings ("turn it into ids") or of another shape than [batch,
  // sizes...]; an alternative that the features cannot be computed from. kUnimplemented: an operation that a receiver
  // cannot have.
  ServingInputReceiver build() &&;

 private:
  struct Feature {
    std::string name;
    GraphValue value;
    int64_t low;
    int64_t high;
  };
  std::vector<Feature>::const_iterator find(const std::string& name) const;
  ServingInput described(const Feature& feature) const;

  GraphBuilder graph_;
  std::vector<Feature> features_;
  std::vector<ServingAlternative> alternatives_;
};

// The input of a receiver that parses.
inline constexpr const char* kExamples = "examples";

// What a receiver does with its inputs, each of which is a feature of its name to begin with.
using ReceiverTransform = std::function<void(ReceiverBuilder& receiver)>;

// Inputs of numbers or strings. Features that are still strings behind `transform` are an error.
ServingInputReceiverFn build_raw_serving_input_receiver_fn(std::vector<std::pair<std::string, TensorSpec>> features,
                                                           ReceiverTransform transform);

struct ParsingReceiverOptions {
  // Behind the parsing.
  ReceiverTransform transform = {};
  // Ranges of int64 features, [low, high) by name, that are tried while tracing; {0, 2} for others. kInvalidArgument
  // for a name that the spec lacks.
  std::map<std::string, std::pair<int64_t, int64_t>> ranges = {};
};

// One input, "examples": a vector of serialized tf.Example, of which each feature of the spec is parsed. Such an export
// has the signatures for classification and regression that TensorFlow Serving's Classify and Regress ask for.
ServingInputReceiverFn build_parsing_serving_input_receiver_fn(FeatureSpecs feature_spec,
                                                               ParsingReceiverOptions options = {});

}  // namespace belfry
