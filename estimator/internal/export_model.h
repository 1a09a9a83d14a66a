// One call of export_saved_model().
#pragma once

#include <string>

#include "estimator/estimator.h"
#include "estimator/internal/session.h"

namespace belfry::internal {

// Traces PREDICT of the session, which is fresh but for the checkpoint's state: its modules are made on the CPU.
ExportResult export_model(Session& session, const RunConfig& config, const std::string& base,
                          const ServingInputReceiverFn& receiver_fn, const ExportOptions& options);

}  // namespace belfry::internal
