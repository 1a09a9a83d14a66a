#include "estimator/internal/export_model.h"

#include <ATen/ATen.h>

#include "core/error.h"

namespace belfry::internal {
namespace {

// Features with one row, so that modules are made and variables known before the trace begins.
Features one_row(const ServingInputReceiver& receiver) {
  Features features;
  for (const ServingInput& input : receiver.inputs()) {
    std::vector<int64_t> shape = input.spec.shape;
    shape[0] = 1;
    features.set(input.feature, at::full(shape, input.spec.low, at::TensorOptions(input.spec.dtype)));
  }
  return features;
}

// Undoes, behind the last trace, what the model wrote into buffers.
struct RollBack {
  Session& session;
  ~RollBack() { session.discard(); }
};

}  // namespace

ExportResult export_model(Session& session, const RunConfig& config, const std::string& base,
                          const ServingInputReceiverFn& receiver_fn, const ExportOptions& options) {
  require(static_cast<bool>(receiver_fn), "export_saved_model: no serving_input_receiver_fn was given");
  const ServingInputReceiver receiver = receiver_fn();
  const RollBack roll_back{session};
  session.run({{one_row(receiver), Labels()}}, ModeKeys::kPredict, /*exporting=*/true);
  ExportRequest request{
      .function =
          [&session](const Features& features) {
            const SessionStep step = session.run({{features, Labels()}}, ModeKeys::kPredict, /*exporting=*/true);
            return resolve_export_outputs(step.spec.export_outputs, step.spec.predictions);
          },
      .receiver = receiver,
      .variables = session.replicas().replica(0).named_tensors(),
      .assets_extra = options.assets_extra,
      .formats = options.formats,
      .saved_model = options.saved_model};
  return write_saved_model(base, request, config.file_system());
}

}  // namespace belfry::internal
