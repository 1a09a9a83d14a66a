// SavedModels as their writer gives them, and read back.
#pragma once

#include "belfry/core/saved_model.pb.h"
#include "export/saved_model_export.h"
#include "export/saved_model_writer.h"
#include "export/trace.h"

namespace belfry::testing {

// With one signature, serving_default, of every output.
SavedModel written(const TraceRequest& request, const SavedModelOptions& options = {});
// With the request's signatures.
SavedModel written(const ExportRequest& request);

// The one graph. Fails the test when there is another number of them, or none for problems.
proto::MetaGraphDef decoded(const SavedModel& model);

}  // namespace belfry::testing
