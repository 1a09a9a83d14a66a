#include "estimator/internal/export_model.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/error.h"

namespace belfry::internal {
namespace {

// Inputs with two rows: of one, a batch norm in training mode fails in words of its own, before the trace can say what
// to do.
Features two_rows(const ServingInputReceiver& receiver) {
  Features features;
  for (const ServingInput& input : receiver.inputs()) {
    std::vector<int64_t> shape = input.spec.shape;
    shape[0] = 2;
    std::replace(shape.begin(), shape.end(), kFreeSize, input.spec.min_length);
    features.set(input.feature, at::full(shape, input.spec.low, at::TensorOptions(input.spec.dtype)));
  }
  return features;
}

// Undoes, behind the last trace, what the model wrote into buffers.
struct RollBack {
  Session& session;
  ~RollBack() { session.discard(); }
};

// Inputs of an evaluation as the model_fn takes them.
Batch batch_of(const Features& inputs, const ServingInputReceiver& receiver) {
  Batch batch;
  for (const ServingInput& input : receiver.inputs()) {
    if (input.label) {
      batch.labels.set(*input.label, inputs.at(input.feature));
    } else {
      batch.features.set(input.feature, inputs.at(input.feature));
    }
  }
  return batch;
}

// What TensorFlow's supervised signatures give. A graph keeps nothing between requests: both the value of a metric and
// its update are those of the request's rows.
TensorDict supervised_outputs(const EstimatorSpec& spec) {
  TensorDict outputs{{"loss", spec.loss}};
  for (const auto& [name, value] : spec.predictions) {
    outputs.set("predictions/" + (name.empty() ? "output" : name), value);
  }
  for (const auto& [name, metric] : spec.eval_metric_ops) {
    outputs.set("metrics/" + name + "/value", metric.result());
    outputs.set("metrics/" + name + "/update_op", metric.result());
  }
  return outputs;
}

std::function<ExportOutputs(const Features&)> serving_function(Session& session) {
  return [&session](const Features& features) {
    const SessionStep step = session.run({{features, Labels()}}, ModeKeys::kPredict, /*exporting=*/true);
    return resolve_export_outputs(step.spec.export_outputs, step.spec.predictions);
  };
}

EvalRequest eval_request(Session& session, const ServingInputReceiver& receiver) {
  const auto function = [&session, receiver](const Features& inputs) {
    return supervised_outputs(session.run({batch_of(inputs, receiver)}, ModeKeys::kEval, /*exporting=*/true).spec);
  };
  return {function, receiver};
}

ExportRequest request_of(Session& session, const ServingInputReceiver& receiver, const ExportOptions& options) {
  return {.function = {},
          .receiver = receiver,
          .variables = session.replicas().replica(0).named_tensors(),
          .assets_extra = options.assets_extra,
          .formats = options.formats,
          .saved_model = options.saved_model,
          .onnx_inline_bytes_limit = options.onnx_inline_bytes_limit};
}

}  // namespace

ExportResult export_model(Session& session, const RunConfig& config, const std::string& base,
                          const InputReceiverFnMap& receiver_fns, const ExportOptions& options) {
  const auto receiver_of = [&](ModeKeys mode) -> std::optional<ServingInputReceiver> {
    const auto found = receiver_fns.find(mode);
    if (found == receiver_fns.end()) return std::nullopt;
    require(static_cast<bool>(found->second), "export: no serving_input_receiver_fn was given for ", to_string(mode));
    return found->second();
  };
  const auto serve = receiver_of(ModeKeys::kPredict);
  const auto eval = receiver_of(ModeKeys::kEval);
  const RollBack roll_back{session};
  // Modules are made and variables known before the trace begins.
  if (serve) session.run({{two_rows(*serve), Labels()}}, ModeKeys::kPredict, /*exporting=*/true);
  if (eval) session.run({batch_of(two_rows(*eval), *eval)}, ModeKeys::kEval, /*exporting=*/true);
  ExportRequest request = request_of(session, serve ? *serve : *eval, options);
  if (serve) request.function = serving_function(session);
  if (eval) request.eval = eval_request(session, *eval);
  return write_saved_model(base, request, config.file_system());
}

}  // namespace belfry::internal
