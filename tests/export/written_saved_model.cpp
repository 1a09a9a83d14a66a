#include "written_saved_model.h"

#include "export/internal/traced_model.h"
#include "loaded_model.h"
#include "tests/testing.h"

namespace belfry::testing {

SavedModel written(const TraceRequest& request, const SavedModelOptions& options) {
  const Trace traced = trace(request);
  return saved_model_bytes(serving_graph(traced, request.receiver, default_signature(traced)), options);
}

SavedModel written(const ExportRequest& request) {
  const internal::TracedModel model = internal::trace_model(request);
  return saved_model_bytes(serving_graph(model.trace, request.receiver, model.signatures));
}

proto::MetaGraphDef decoded(const SavedModel& model) {
  INFO((model.problems.empty() ? "" : model.problems[0]));
  REQUIRE(model.problems.empty());
  proto::SavedModel message;
  REQUIRE(message.ParseFromString(model.bytes));
  REQUIRE(message.meta_graphs_size() == 1);
  return message.meta_graphs(0);
}

}  // namespace belfry::testing
