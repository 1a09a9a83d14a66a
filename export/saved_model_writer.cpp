#include "export/saved_model_writer.h"

#include <google/protobuf/text_format.h>

#include "core/error.h"
#include "export/internal/deterministic_bytes.h"
#include "export/internal/tensorflow/lowering.h"
#include "export/internal/tensorflow/saver.h"

namespace belfry {
namespace {

// Of the first TensorFlow 2 releases: old enough for any server, young enough for the operations in use.
constexpr int kProducer = 1395;

using internal::Lowering;
using internal::TfTensor;

void describe(proto::TensorInfo& info, const TfTensor& tensor, const GraphType& type) {
  info.set_name(tensor.name.find(':') == std::string::npos ? tensor.name + ":0" : tensor.name);
  info.set_dtype(internal::tensorflow_dtype(type.dtype));
  internal::set_shape(*info.mutable_tensor_shape(), type.shape);
}

const char* method_name(ServingMethod method) {
  switch (method) {
    case ServingMethod::kClassify:
      return "tensorflow/serving/classify";
    case ServingMethod::kRegress:
      return "tensorflow/serving/regress";
    default:
      return "tensorflow/serving/predict";
  }
}

// A node of its own for each output, so that none is an input or a constant itself.
TfTensor output_tensor(Lowering& lowering, const std::string& name, GraphValue value) {
  const TfTensor tensor = lowering.of(value);
  return lowering.out().node("Identity", name).input(tensor).type("T", tensor.dtype).output(tensor.dtype);
}

proto::SignatureDef signature_def(const Graph& graph, const ServedSignature& signature, Lowering& lowering) {
  proto::SignatureDef def;
  def.set_method_name(method_name(signature.method));
  for (const auto& [name, value] : signature.inputs) {
    describe((*def.mutable_inputs())[name], lowering.of(value), graph.type(value));
  }
  for (const auto& [name, value] : signature.outputs) {
    const TfTensor tensor = output_tensor(lowering, signature.name + "/" + name, value);
    describe((*def.mutable_outputs())[name], tensor, graph.type(value));
  }
  return def;
}

// What a loader does with the files and tables before the first request.
void add_initialization(proto::MetaGraphDef& meta, Lowering& lowering) {
  for (const internal::TfAsset& asset : lowering.assets()) {
    proto::AssetFileDef& def = *meta.add_asset_file_def();
    def.mutable_tensor_info()->set_name(asset.path.name + ":0");
    def.set_filename(asset.name);
  }
  if (lowering.initializers().empty()) return;
  internal::TfNode all = lowering.out().node("NoOp", "init_all_tables");
  for (const TfTensor& one : lowering.initializers()) all.after(one);
  auto& main_op = *(*meta.mutable_collection_def())["saved_model_main_op"].mutable_node_list();
  main_op.add_value(all.output(kString).name);
}

// The keys of maps come in order here too.
std::string text_of(const proto::SavedModel& model) {
  std::string text;
  if (!google::protobuf::TextFormat::PrintToString(model, &text)) {
    fail(ErrorKind::kInternal, "SavedModel: the message cannot be printed");
  }
  return text;
}

proto::SavedModel message_of(const ServingGraph& serving, Lowering& lowering) {
  proto::SavedModel model;
  model.set_saved_model_schema_version(1);
  proto::MetaGraphDef& meta = *model.add_meta_graphs();
  meta.mutable_meta_info_def()->add_tags("serve");
  meta.mutable_meta_info_def()->set_stripped_default_attrs(true);
  for (const ServedSignature& signature : serving.signatures) {
    (*meta.mutable_signature_def())[signature.name] = signature_def(serving.graph, signature, lowering);
  }
  add_initialization(meta, lowering);
  if (!lowering.out().variables().empty()) *meta.mutable_saver_def() = internal::add_saver(lowering.out());
  *meta.mutable_graph_def() = lowering.out().graph();
  meta.mutable_graph_def()->mutable_versions()->set_producer(kProducer);
  return model;
}

SavedModel written(const ServingGraph& serving, Lowering& lowering, bool as_text) {
  const proto::SavedModel message = message_of(serving, lowering);
  SavedModel model{as_text ? text_of(message) : internal::deterministic_bytes(message), {}, {}};
  for (const internal::TfAsset& asset : lowering.assets()) model.assets.push_back({asset.name, asset.bytes});
  for (const internal::TfVariable& one : lowering.out().variables()) model.variables.emplace_back(one.name, one.tensor);
  return model;
}

}  // namespace

SavedModel saved_model_bytes(const ServingGraph& serving, const SavedModelOptions& options) {
  const bool variables = options.weights == SavedModelWeights::kVariables;
  Lowering lowering(serving.graph, variables ? internal::TfWeights::kVariables : internal::TfWeights::kConstants);
  lowering.run();
  if (!lowering.problems().empty()) return {"", internal::problem_texts(lowering.problems()), {}};
  if (lowering.out().constant_bytes() <= options.constant_bytes_limit) {
    return written(serving, lowering, options.as_text);
  }
  if (options.weights == SavedModelWeights::kAutomatic) {
    SavedModelOptions with_variables = options;
    with_variables.weights = SavedModelWeights::kVariables;
    return saved_model_bytes(serving, with_variables);
  }
  return {"",
          {concat("its constants need ", lowering.out().constant_bytes(), " bytes, and a SavedModel holds ",
                  options.constant_bytes_limit)},
          {}};
}

}  // namespace belfry
