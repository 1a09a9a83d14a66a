#include "export/serving_input_receiver.h"

#include "core/error.h"
#include "export/internal/check_tensor_spec.h"

namespace belfry {

using internal::check_tensor_spec;

ServingInputReceiver::ServingInputReceiver(const std::vector<std::pair<std::string, TensorSpec>>& features) {
  require(!features.empty(), "serving inputs: there are none");
  for (const auto& [name, spec] : features) {
    check_tensor_spec(name, spec);
    for (const ServingInput& other : inputs_) {
      if (other.name == name) fail(ErrorKind::kAlreadyExists, "serving inputs: the name '", name, "' comes twice");
    }
    inputs_.push_back({name, name, spec});
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

}  // namespace belfry
