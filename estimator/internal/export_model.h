// One call of export_saved_model() or experimental_export_all_saved_models().
#pragma once

#include <string>

#include "estimator/estimator.h"
#include "estimator/internal/session.h"

namespace belfry::internal {

// Traces PREDICT and EVAL of the session, as far as there are receivers for them. The session is fresh but for the
// checkpoint's state: its modules are made on the CPU.
ExportResult export_model(Session& session, const RunConfig& config, const std::string& base,
                          const InputReceiverFnMap& receiver_fns, const ExportOptions& options);

}  // namespace belfry::internal
