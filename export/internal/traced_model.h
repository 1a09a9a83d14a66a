// A traced model with its signatures: what every writer of a format works from.
#pragma once

#include <vector>

#include "export/saved_model_export.h"
#include "export/torchscript_writer.h"
#include "export/trace.h"

namespace belfry::internal {

struct TracedModel {
  Trace trace;
  std::vector<TracedSignature> signatures;
};

// The errors are those of trace() and of resolve_export_outputs().
TracedModel trace_model(const ExportRequest& request);
// With one signature, "eval".
TracedModel trace_evaluation(const EvalRequest& request, const NamedTensors& variables);

}  // namespace belfry::internal
