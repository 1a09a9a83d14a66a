// What a served model takes: the names, dtypes and shapes of its inputs.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace belfry {

// Dtype and shape of one input. Dimension 0 is the batch and is written -1. Other sizes are fixed, or -1 for a length
// that each request chooses, such as the words of a text: all these -1 of an export are one and the same length.
struct TensorSpec {
  c10::ScalarType dtype = c10::ScalarType::Float;
  std::vector<int64_t> shape = {-1};
  // Integer inputs are tried with values of [low, high) while the model is traced: within the ids that it accepts.
  int64_t low = 0;
  int64_t high = 2;
  // A free length is tried from `min_length`, at least 2, to `max_length`: within what the model can compute.
  int64_t min_length = 5;
  int64_t max_length = 16;
};

// One input of the served model and the feature that it becomes in model_fn.
struct ServingInput {
  std::string name;
  std::string feature;
  TensorSpec spec;
  // The name among the labels, of an input that is one; a lone label's is empty.
  std::optional<std::string> label = {};
};

// Values of a receiver's graph that a request may give in place of its inputs.
struct ServingAlternative {
  std::string name;
  std::vector<GraphOutput> tensors;
};

// The inputs of an export, in the order in which a served model takes them. Immutable; threads may share it. One with
// work on strings or examples is made by ReceiverBuilder.
class ServingInputReceiver {
 public:
  // Each feature is an input of the same name. kInvalidArgument, with the input's name: no inputs, an empty name, a
  // dtype that tensors of a request cannot have, a shape whose dimension 0 is not -1 or another one is neither -1 nor
  // positive, an empty range. kAlreadyExists: a name that comes twice.
  explicit ServingInputReceiver(const std::vector<std::pair<std::string, TensorSpec>>& features);
  // A lone tensor: the input "input", the feature "feature".
  explicit ServingInputReceiver(const TensorSpec& feature);
  // Features and labels, under the terms of build_supervised_input_receiver_fn.
  ServingInputReceiver(const std::vector<std::pair<std::string, TensorSpec>>& features,
                       const std::vector<std::pair<std::string, TensorSpec>>& labels);

  // What the model takes: tensors of numbers.
  const std::vector<ServingInput>& inputs() const { return inputs_; }
  // From what a request holds to inputs(), which are its outputs, in that order. Null where they are the same.
  const Graph* graph() const { return graph_.get(); }
  const std::vector<ServingAlternative>& alternatives() const { return alternatives_; }

 private:
  friend class ReceiverBuilder;
  void add(ServingInput input);
  ServingInputReceiver(Graph graph, std::vector<ServingInput> inputs, std::vector<ServingAlternative> alternatives);

  std::vector<ServingInput> inputs_;
  std::shared_ptr<const Graph> graph_ = {};
  std::vector<ServingAlternative> alternatives_ = {};
};

using ServingInputReceiverFn = std::function<ServingInputReceiver()>;

// Inputs that are the features themselves, as tensors: {{"x", {.dtype = at::kFloat, .shape = {-1, 4}}}}. The specs are
// checked here, with the errors of ServingInputReceiver.
ServingInputReceiverFn build_raw_serving_input_receiver_fn(std::vector<std::pair<std::string, TensorSpec>> features);
ServingInputReceiverFn build_raw_serving_input_receiver_fn(TensorSpec feature);

// For the graph of an evaluation: inputs that are features, and inputs that are labels. A lone label has the name "",
// and its input is "label". kAlreadyExists when a label has the name of a feature; otherwise as above.
ServingInputReceiverFn build_supervised_input_receiver_fn(std::vector<std::pair<std::string, TensorSpec>> features,
                                                          std::vector<std::pair<std::string, TensorSpec>> labels);

}  // namespace belfry
