#include "export/internal/signature_json.h"

#include <c10/core/ScalarType.h>
#include <torch/version.h>

#include <nlohmann/json.hpp>

#include "export/internal/attribute_json.h"
#include "export/name_mangling.h"

namespace belfry::internal {
namespace {

constexpr int kFormat = 1;
constexpr const char* kPredictMethod = "tensorflow/serving/predict";  // raw tensors allow no other

std::string dtype_name(c10::ScalarType dtype) { return c10::getDtypeNames(dtype).first; }

Json inputs_json(const Trace& trace) {
  Json inputs = Json::array();
  for (const ServingInput& input : trace.inputs) {
    inputs.push_back({{"name", input.name},
                      {"argument", mangle_name(input.name)},
                      {"dtype", dtype_name(input.spec.dtype)},
                      {"shape", input.spec.shape}});
  }
  return inputs;
}

Json outputs_json(const Trace& trace, const TracedSignature& signature) {
  Json outputs = Json::array();
  for (const auto& [name, index, vocabulary] : signature.outputs) {
    const TracedOutput& traced = trace.outputs[index];
    Json output = {{"name", name}, {"dtype", dtype_name(traced.dtype)}, {"shape", traced.shape}};
    if (!vocabulary.empty()) output["vocabulary"] = texts_json(vocabulary);
    outputs.push_back(std::move(output));
  }
  return outputs;
}

Json signatures_json(const Trace& trace, const std::vector<TracedSignature>& signatures) {
  Json all = Json::object();
  for (const TracedSignature& signature : signatures) {
    Json described = {{"method", method_name(signature)},
                      {"kind", to_string(signature.kind)},
                      {"method_name", kPredictMethod},
                      {"inputs", inputs_json(trace)},
                      {"outputs", outputs_json(trace, signature)}};
    if (!signature.class_names.empty()) described["class_names"] = texts_json(signature.class_names);
    all[signature.name] = std::move(described);
  }
  return all;
}

Json variables_json(const NamedTensors& variables) {
  Json all = Json::array();
  for (const auto& [name, tensor] : variables) {
    all.push_back({{"name", name},
                   {"attribute", mangle_name(name)},
                   {"dtype", dtype_name(tensor.scalar_type())},
                   {"shape", tensor.sizes().vec()}});
  }
  return all;
}

}  // namespace

std::string method_name(const TracedSignature& signature) {
  return signature.name == kServingDefault ? "forward" : mangle_name(signature.name);
}

std::string signature_json(const Trace& trace, const std::vector<TracedSignature>& signatures) {
  const Json json = {{"format", kFormat},
                     {"belfry_version", BELFRY_VERSION},
                     {"torch_version", TORCH_VERSION},
                     {"signatures", signatures_json(trace, signatures)},
                     {"variables", variables_json(trace.variables)}};
  // Variables may have names of any bytes; those that are no UTF-8 are replaced rather than losing the export.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace belfry::internal
