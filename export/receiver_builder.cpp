#include "export/receiver_builder.h"

#include <algorithm>

#include "core/error.h"
#include "export/internal/check_tensor_spec.h"
#include "export/internal/id_range.h"
#include "export/internal/receiver_node.h"

namespace belfry {
namespace {

constexpr internal::IdRange kBits{0, 2};  // what is tried of integers of which nothing is known

TensorSpec spec_of(const GraphType& type, internal::IdRange range) {
  return {.dtype = type.dtype, .shape = type.shape, .low = range.low, .high = range.high};
}

void require_operations(const Graph& graph) {
  for (const size_t number : graph.live_nodes()) {
    internal::require_runs_in_receiver(graph.nodes()[number].operation);
  }
}

// A feature that no tensor of the alternative leads to would read what the request does not give.
void check_alternative(const Graph& graph, const ServingAlternative& alternative) {
  const auto given = [&](GraphValue value) {
    const auto is_value = [value](const GraphOutput& tensor) { return tensor.value == value; };
    return std::any_of(alternative.tensors.begin(), alternative.tensors.end(), is_value);
  };
  std::vector<GraphValue> wanted;
  for (const GraphOutput& feature : graph.outputs()) wanted.push_back(feature.value);
  std::vector<bool> read(graph.nodes().size(), false);
  size_t found = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (given(wanted[i])) {
      ++found;
      continue;
    }
    const GraphNode& node = graph.producer(wanted[i]);
    require(node.operation != Operation::kInput, "receiver: the alternative '", alternative.name,
            "' does not give what the features need of input '",
            node.operation == Operation::kInput ? node.attributes.text("name") : "", "'");
    const auto number = static_cast<size_t>(&node - graph.nodes().data());
    if (read[number]) continue;
    read[number] = true;
    wanted.insert(wanted.end(), node.inputs.begin(), node.inputs.end());
  }
  require(found >= alternative.tensors.size(), "receiver: the alternative '", alternative.name,
          "' has a tensor that no feature is computed from");
}

}  // namespace

GraphValue ReceiverBuilder::input(const std::string& name, const TensorSpec& spec) {
  internal::check_tensor_spec(name, spec, /*strings_too=*/true);
  for (const GraphNode& node : graph_.graph().nodes()) {
    if (node.operation != Operation::kInput || node.attributes.text("name") != name) continue;
    fail(ErrorKind::kAlreadyExists, "serving inputs: the name '", name, "' comes twice");
  }
  return graph_.input(name, {spec.dtype, spec.shape});
}

std::vector<ReceiverBuilder::Feature>::const_iterator ReceiverBuilder::find(const std::string& name) const {
  const auto named = [&](const Feature& feature) { return feature.name == name; };
  const auto found = std::find_if(features_.begin(), features_.end(), named);
  if (found != features_.end()) return found;
  std::string names;
  for (const Feature& feature : features_) names += (names.empty() ? "'" : ", '") + feature.name + "'";
  fail(ErrorKind::kNotFound, "receiver: there is no feature '", name, "'; there are ", names);
}

void ReceiverBuilder::set_feature(const std::string& name, GraphValue value) {
  const auto known = internal::id_range(graph_.graph(), value);
  const internal::IdRange range = known.value_or(kBits);
  set_feature(name, value, range.low, range.high);
}

void ReceiverBuilder::set_feature(const std::string& name, GraphValue value, int64_t low, int64_t high) {
  require(!name.empty(), "receiver: a feature has no name");
  require(value.defined(), "receiver: the value of feature '", name, "' is undefined");
  const auto named = [&](const Feature& feature) { return feature.name == name; };
  const auto found = std::find_if(features_.begin(), features_.end(), named);
  const Feature feature{name, value, low, high};
  if (found == features_.end()) {
    features_.push_back(feature);
  } else {
    *found = feature;
  }
}

GraphValue ReceiverBuilder::feature(const std::string& name) const { return find(name)->value; }

void ReceiverBuilder::erase_feature(const std::string& name) { features_.erase(find(name)); }

void ReceiverBuilder::add_alternative(const std::string& name,
                                      const std::vector<std::pair<std::string, GraphValue>>& tensors) {
  require(!name.empty() && !tensors.empty(), "receiver: an alternative has no name or no tensors");
  for (const ServingAlternative& other : alternatives_) {
    if (other.name == name) fail(ErrorKind::kAlreadyExists, "receiver: the alternative '", name, "' comes twice");
  }
  ServingAlternative alternative{name, {}};
  for (const auto& [tensor, value] : tensors) alternative.tensors.push_back({tensor, value});
  alternatives_.push_back(std::move(alternative));
}

ServingInput ReceiverBuilder::described(const Feature& feature) const {
  const GraphType& type = graph_.type(feature.value);
  const auto& name = feature.name;
  require(type.dtype != kString, "receiver: feature '", name,
          "' is strings, and a model computes with numbers: turn it ",
          "into ids with hash_bucket or vocabulary_lookup, or erase it");
  const TensorSpec spec = spec_of(type, {feature.low, feature.high});
  internal::check_tensor_spec(name, spec);
  return {name, name, spec};
}

ServingInputReceiver ReceiverBuilder::build() && {
  require(!features_.empty(), "receiver: there are no features");
  std::vector<ServingInput> inputs;
  std::vector<GraphOutput> outputs;
  for (const Feature& feature : features_) {
    inputs.push_back(described(feature));
    outputs.push_back({feature.name, feature.value});
  }
  Graph graph = graph_.build(std::move(outputs));
  require_operations(graph);
  for (const ServingAlternative& alternative : alternatives_) check_alternative(graph, alternative);
  return {std::move(graph), std::move(inputs), std::move(alternatives_)};
}

ServingInputReceiverFn build_raw_serving_input_receiver_fn(std::vector<std::pair<std::string, TensorSpec>> features,
                                                           ReceiverTransform transform) {
  return [features = std::move(features), transform = std::move(transform)] {
    ReceiverBuilder receiver;
    for (const auto& [name, spec] : features) {
      receiver.set_feature(name, receiver.input(name, spec), spec.low, spec.high);
    }
    if (transform) transform(receiver);
    return std::move(receiver).build();
  };
}

ServingInputReceiverFn build_parsing_serving_input_receiver_fn(FeatureSpecs feature_spec,
                                                               ParsingReceiverOptions options) {
  check(feature_spec);
  for (const auto& [name, range] : options.ranges) {
    const auto named = [&, &wanted = name](const auto& feature) { return feature.first == wanted; };
    require(std::any_of(feature_spec.begin(), feature_spec.end(), named), "receiver: there is a range for '", name,
            "', and no such feature");
  }
  return [feature_spec = std::move(feature_spec), options = std::move(options)] {
    ReceiverBuilder receiver;
    const GraphValue examples = receiver.input(kExamples, {.dtype = kString, .shape = {-1}});
    const std::vector<GraphValue> parsed = receiver.graph().parse_example(examples, feature_spec);
    for (size_t i = 0; i < parsed.size(); ++i) {
      const std::string& name = feature_spec[i].first;
      const auto range = options.ranges.find(name);
      const auto [low, high] = range == options.ranges.end() ? std::pair(kBits.low, kBits.high) : range->second;
      receiver.set_feature(name, parsed[i], low, high);
    }
    if (options.transform) options.transform(receiver);
    return std::move(receiver).build();
  };
}

}  // namespace belfry
