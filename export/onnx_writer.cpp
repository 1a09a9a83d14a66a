#include "export/onnx_writer.h"

#include "core/error.h"
#include "export/internal/deterministic_bytes.h"
#include "export/internal/onnx/batch_axes.h"
#include "export/internal/onnx/external_data.h"
#include "export/internal/onnx/lowering.h"
#include "export/internal/onnx/metadata.h"
#include "export/internal/receiver_json.h"

namespace belfry {
namespace {

constexpr int64_t kIrVersion = 8;  // goes with opset 17: both are those of ONNX 1.12
constexpr int64_t kOpset = 17;

using internal::onnx::Lowering;
using OutputNames = std::vector<std::vector<std::string>>;  // of each signature

// In the order of the signatures, so that nothing else gets the names.
OutputNames reserve_outputs(const std::vector<TracedSignature>& signatures, Lowering& lowering) {
  OutputNames names;
  for (const TracedSignature& signature : signatures) {
    std::vector<std::string>& own = names.emplace_back();
    for (const auto& output : signature.outputs) {
      const std::string full = concat(signature.name, "/", output.name);
      const bool plain = signature.name == kServingDefault && !lowering.out().is_reserved(output.name);
      own.push_back(lowering.out().reserve(plain ? output.name : full));
    }
  }
  return names;
}

void add_outputs(const Graph& graph, const std::vector<TracedSignature>& signatures, const OutputNames& names,
                 Lowering& lowering) {
  const internal::onnx::BatchAxes batch(graph);
  for (size_t s = 0; s < signatures.size(); ++s) {
    for (size_t i = 0; i < signatures[s].outputs.size(); ++i) {
      const GraphValue value = graph.outputs().at(signatures[s].outputs[i].index).value;
      const auto dims = internal::onnx::dims_of(graph.type(value), batch.of(value), names[s][i]);
      lowering.out().output(names[s][i], lowering.of(value), dims);
    }
  }
}

void add_metadata(proto::onnx::ModelProto& model, const char* key, const std::string& value) {
  auto& entry = *model.add_metadata_props();
  entry.set_key(key);
  entry.set_value(value);
}

proto::onnx::ModelProto model_proto(Lowering& lowering) {
  proto::onnx::ModelProto model;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("belfry");
  model.set_producer_version(BELFRY_VERSION);
  model.add_opset_import()->set_version(kOpset);
  *model.mutable_graph() = lowering.out().release();
  model.mutable_graph()->set_name("belfry");
  return model;
}

}  // namespace

OnnxModel onnx_bytes(const Graph& graph, const std::vector<TracedSignature>& signatures, const OnnxOptions& options) {
  Lowering lowering(graph);
  lowering.add_inputs();
  const OutputNames names = reserve_outputs(signatures, lowering);
  lowering.run();
  if (!lowering.problems().empty()) return {{}, {}, internal::problem_texts(lowering.problems())};
  add_outputs(graph, signatures, names, lowering);
  auto model = model_proto(lowering);
  add_metadata(model, kOnnxSignatures, internal::onnx::signatures_json(graph, signatures, names));
  if (options.receiver) add_metadata(model, kOnnxReceiver, internal::receiver_json(*options.receiver));
  std::string data;
  if (internal::onnx::initializer_bytes(model.graph()) > options.inline_bytes_limit) {
    data = internal::onnx::move_out_initializers(*model.mutable_graph(), options.data_file);
  }
  return {internal::deterministic_bytes(model), std::move(data), {}};
}

}  // namespace belfry
