#include "export/saved_model_writer.h"

#include "core/error.h"
#include "export/internal/deterministic_bytes.h"
#include "export/internal/tensorflow/lowering.h"

namespace belfry {
namespace {

// Of the first TensorFlow 2 releases: old enough for any server, young enough for the operations in use.
constexpr int kProducer = 1395;
constexpr const char* kPredictMethod = "tensorflow/serving/predict";  // raw tensors allow no other

using internal::Lowering;
using internal::TfTensor;

void describe(proto::TensorInfo& info, const TfTensor& tensor, const GraphType& type) {
  info.set_name(tensor.name.find(':') == std::string::npos ? tensor.name + ":0" : tensor.name);
  info.set_dtype(internal::tensorflow_dtype(type.dtype));
  internal::set_shape(*info.mutable_tensor_shape(), type.shape);
}

void add_inputs(proto::SignatureDef& signature, const Graph& graph, Lowering& lowering) {
  for (const GraphNode& node : graph.nodes()) {
    if (node.operation != Operation::kInput) continue;
    describe((*signature.mutable_inputs())[node.attributes.text("name")], lowering.of(node.outputs[0]),
             graph.type(node.outputs[0]));
  }
}

// A node of its own for each output, so that none is an input or a constant itself.
TfTensor output_tensor(Lowering& lowering, const TracedSignature& signature, const TracedSignature::Output& output,
                       GraphValue value) {
  const TfTensor tensor = lowering.of(value);
  return lowering.out()
      .node("Identity", signature.name + "/" + output.name)
      .input(tensor)
      .type("T", tensor.dtype)
      .output(tensor.dtype);
}

proto::SignatureDef signature_def(const Graph& graph, const TracedSignature& signature, Lowering& lowering) {
  proto::SignatureDef def;
  def.set_method_name(kPredictMethod);
  add_inputs(def, graph, lowering);
  for (const auto& output : signature.outputs) {
    const GraphValue value = graph.outputs().at(output.index).value;
    describe((*def.mutable_outputs())[output.name], output_tensor(lowering, signature, output, value),
             graph.type(value));
  }
  return def;
}

std::string bytes_of(const Graph& graph, const std::vector<TracedSignature>& signatures, Lowering& lowering) {
  proto::SavedModel model;
  model.set_saved_model_schema_version(1);
  proto::MetaGraphDef& meta = *model.add_meta_graphs();
  meta.mutable_meta_info_def()->add_tags("serve");
  meta.mutable_meta_info_def()->set_stripped_default_attrs(true);
  for (const TracedSignature& signature : signatures) {
    (*meta.mutable_signature_def())[signature.name] = signature_def(graph, signature, lowering);
  }
  *meta.mutable_graph_def() = lowering.out().graph();
  meta.mutable_graph_def()->mutable_versions()->set_producer(kProducer);
  return internal::deterministic_bytes(model);
}

}  // namespace

SavedModel saved_model_bytes(const Graph& graph, const std::vector<TracedSignature>& signatures,
                             const SavedModelOptions& options) {
  Lowering lowering(graph);
  lowering.run();
  if (!lowering.problems().empty()) return {"", internal::problem_texts(lowering.problems())};
  if (lowering.out().constant_bytes() > options.constant_bytes_limit) {
    return {"",
            {concat("its weights need ", lowering.out().constant_bytes(),
                    " bytes as constants, and a SavedModel holds ", options.constant_bytes_limit)}};
  }
  return {bytes_of(graph, signatures, lowering), {}};
}

}  // namespace belfry
