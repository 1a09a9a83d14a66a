#include "export/internal/traced_model.h"

#include <algorithm>

#include "core/error.h"
#include "export/internal/attribute_json.h"

namespace belfry::internal {
namespace {

// The traced function's outputs are those of all signatures, one after another.
std::string traced_name(const std::string& signature, const std::string& output) { return signature + "/" + output; }

TensorDict flatten(const ExportOutputs& outputs) {
  TensorDict flat;
  for (const auto& [signature, output] : outputs) {
    for (const ExportTensor& entry : output.tensors()) flat.set(traced_name(signature, entry.name), entry.tensor);
  }
  return flat;
}

size_t index_of(const Trace& trace, const std::string& name) {
  const auto named = [&](const TracedOutput& output) { return output.name == name; };
  return std::find_if(trace.outputs.begin(), trace.outputs.end(), named) - trace.outputs.begin();
}

std::vector<TracedSignature> signatures_of(const ExportOutputs& outputs, const Trace& trace) {
  std::vector<TracedSignature> signatures;
  for (const auto& [name, output] : outputs) {
    TracedSignature signature{name, output.kind(), {}, output.class_names()};
    for (const ExportTensor& entry : output.tensors()) {
      signature.outputs.push_back({entry.name, index_of(trace, traced_name(name, entry.name)), entry.vocabulary});
    }
    signatures.push_back(std::move(signature));
  }
  return signatures;
}

// Signatures are described in formats whose texts are UTF-8.
void check_names(const TracedModel& model) {
  const auto check = [](const char* what, const std::string& name) {
    require(is_utf8(name), "export: the name of ", what, " '", name, "' is not UTF-8");
  };
  for (const ServingInput& input : model.trace.inputs) check("the input", input.name);
  for (const TracedSignature& signature : model.signatures) {
    check("the signature", signature.name);
    for (const auto& output : signature.outputs) check("the output", output.name);
  }
}

}  // namespace

TracedModel trace_model(const ExportRequest& request) {
  ExportOutputs last;
  const auto function = [&](const Features& features) {
    last = resolve_export_outputs(request.function(features), {});
    return flatten(last);
  };
  Trace traced = trace({function, request.receiver, request.variables});
  std::vector<TracedSignature> signatures = signatures_of(last, traced);
  TracedModel model{std::move(traced), std::move(signatures)};
  check_names(model);
  return model;
}

TracedModel trace_evaluation(const EvalRequest& request, const NamedTensors& variables) {
  Trace traced = trace({request.function, request.receiver, variables});
  TracedSignature signature{.name = "eval"};
  for (size_t i = 0; i < traced.outputs.size(); ++i) signature.outputs.push_back({traced.outputs[i].name, i});
  TracedModel model{std::move(traced), {signature}};
  check_names(model);
  return model;
}

}  // namespace belfry::internal
