#include "export/serving_input_receiver.h"

#include "core/error.h"
#include "export/internal/check_tensor_spec.h"

namespace belfry {

using internal::check_tensor_spec;

void ServingInputReceiver::add(ServingInput input) {
  check_tensor_spec(input.name, input.spec);
  for (const ServingInput& other : inputs_) {
    if (other.name == input.name) {
      fail(ErrorKind::kAlreadyExists, "serving inputs: the name '", input.name, "' comes twice");
    }
  }
  inputs_.push_back(std::move(input));
}

ServingInputReceiver::ServingInputReceiver(const std::vector<std::pair<std::string, TensorSpec>>& features) {
  require(!features.empty(), "serving inputs: there are none");
  for (const auto& [name, spec] : features) add({name, name, spec});
}

ServingInputReceiver::ServingInputReceiver(const std::vector<std::pair<std::string, TensorSpec>>& features,
                                           const std::vector<std::pair<std::string, TensorSpec>>& labels)
    : ServingInputReceiver(features) {
  require(!labels.empty(), "supervised inputs: there are no labels");
  for (const auto& [name, spec] : labels) {
    const std::string input = name.empty() ? "label" : name;
    add({input, input, spec, name});
  }
}

ServingInputReceiver::ServingInputReceiver(const TensorSpec& feature) : inputs_{{"input", "feature", feature}} {
  check_tensor_spec("input", feature);
}

ServingInputReceiver::ServingInputReceiver(Graph graph, std::vector<ServingInput> inputs,
                                           std::vector<ServingAlternative> alternatives)
    : inputs_(std::move(inputs)),
      graph_(std::make_shared<const Graph>(std::move(graph))),
      alternatives_(std::move(alternatives)) {}

ServingInputReceiverFn build_raw_serving_input_receiver_fn(std::vector<std::pair<std::string, TensorSpec>> features) {
  return [receiver = ServingInputReceiver(features)] { return receiver; };
}

ServingInputReceiverFn build_raw_serving_input_receiver_fn(TensorSpec feature) {
  return [receiver = ServingInputReceiver(feature)] { return receiver; };
}

ServingInputReceiverFn build_supervised_input_receiver_fn(std::vector<std::pair<std::string, TensorSpec>> features,
                                                          std::vector<std::pair<std::string, TensorSpec>> labels) {
  return [receiver = ServingInputReceiver(features, labels)] { return receiver; };
}

}  // namespace belfry
