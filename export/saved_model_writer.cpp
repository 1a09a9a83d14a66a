#include "export/saved_model_writer.h"

#include <google/protobuf/text_format.h>

#include <map>

#include "core/error.h"
#include "export/internal/deterministic_bytes.h"
#include "export/internal/lowering_problem.h"
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
    case ServingMethod::kEval:
      return "tensorflow/supervised/eval";
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

// The checkpoint that all graphs restore. A weight that two of them have in different layouts is there twice.
class SharedVariables {
 public:
  // Under what names the variables of a graph are in the checkpoint.
  std::vector<std::string> keys(const std::vector<internal::TfVariable>& variables) {
    std::vector<std::string> keys;
    for (const internal::TfVariable& variable : variables) keys.push_back(key(variable));
    return keys;
  }

  const NamedTensors& all() const { return all_; }

 private:
  std::string key(const internal::TfVariable& variable) {
    std::string name = variable.name;
    for (int i = 1; tensors_.contains(name); ++i) {
      if (tensors_.at(name).equal(variable.tensor)) return name;
      name = concat(variable.name, "_", i);
    }
    tensors_.emplace(name, variable.tensor);
    all_.emplace_back(name, variable.tensor);
    return name;
  }

  std::map<std::string, at::Tensor> tensors_;
  NamedTensors all_;
};

// A graph on its way into the message.
struct Lowered {
  const TaggedGraph& source;
  Lowering lowering;
};

void add_meta_graph(proto::SavedModel& model, Lowered& lowered, SharedVariables& variables) {
  Lowering& lowering = lowered.lowering;
  proto::MetaGraphDef& meta = *model.add_meta_graphs();
  meta.mutable_meta_info_def()->add_tags(lowered.source.tag);
  meta.mutable_meta_info_def()->set_stripped_default_attrs(true);
  for (const ServedSignature& signature : lowered.source.graph.signatures) {
    (*meta.mutable_signature_def())[signature.name] = signature_def(lowered.source.graph.graph, signature, lowering);
  }
  add_initialization(meta, lowering);
  if (!lowering.out().variables().empty()) {
    *meta.mutable_saver_def() = internal::add_saver(lowering.out(), variables.keys(lowering.out().variables()));
  }
  *meta.mutable_graph_def() = lowering.out().graph();
  meta.mutable_graph_def()->mutable_versions()->set_producer(kProducer);
}

SavedModel written(std::vector<Lowered>& graphs, bool as_text) {
  proto::SavedModel message;
  message.set_saved_model_schema_version(1);
  SharedVariables variables;
  SavedModel model;
  for (Lowered& one : graphs) {
    add_meta_graph(message, one, variables);
    for (const internal::TfAsset& asset : one.lowering.assets()) model.assets.push_back({asset.name, asset.bytes});
  }
  model.bytes = as_text ? text_of(message) : internal::deterministic_bytes(message);
  model.variables = variables.all();
  return model;
}

// What the graphs hold as constants and variables, before anything is made of it.
int64_t literal_bytes(const std::vector<TaggedGraph>& graphs) {
  int64_t bytes = 0;
  for (const TaggedGraph& tagged : graphs) {
    const Graph& graph = tagged.graph.graph;
    for (const size_t i : graph.live_nodes()) {
      const std::vector<GraphValue>& outputs = graph.nodes()[i].outputs;
      const at::Tensor* literal = outputs.size() == 1 ? graph.literal(outputs[0]) : nullptr;
      if (literal) bytes += static_cast<int64_t>(literal->nbytes());
    }
  }
  return bytes;
}

int64_t constant_bytes(std::vector<Lowered>& graphs) {
  int64_t bytes = 0;
  for (Lowered& one : graphs) bytes += one.lowering.out().constant_bytes();
  return bytes;
}

}  // namespace

SavedModel saved_model_bytes(const std::vector<TaggedGraph>& graphs, const SavedModelOptions& options) {
  const bool automatic = options.weights == SavedModelWeights::kAutomatic;
  const bool are_many = graphs.size() > 1 || literal_bytes(graphs) > options.constant_bytes_limit;
  const bool variables = options.weights == SavedModelWeights::kVariables || (automatic && are_many);
  const auto weights = variables ? internal::TfWeights::kVariables : internal::TfWeights::kConstants;
  std::vector<Lowered> lowered;
  std::vector<internal::LoweringProblem> problems;
  for (const TaggedGraph& graph : graphs) {
    lowered.push_back({graph, Lowering(graph.graph.graph, weights)});
    Lowering& lowering = lowered.back().lowering;
    lowering.run();
    problems.insert(problems.end(), lowering.problems().begin(), lowering.problems().end());
  }
  if (!problems.empty()) return {"", internal::problem_texts(problems), {}};
  const int64_t bytes = constant_bytes(lowered);
  if (bytes <= options.constant_bytes_limit) return written(lowered, options.as_text);
  if (automatic && !variables) {
    SavedModelOptions with_variables = options;
    with_variables.weights = SavedModelWeights::kVariables;
    return saved_model_bytes(graphs, with_variables);
  }
  return {
      "", {concat("its constants need ", bytes, " bytes, and a SavedModel holds ", options.constant_bytes_limit)}, {}};
}

SavedModel saved_model_bytes(const ServingGraph& serving, const SavedModelOptions& options) {
  return saved_model_bytes({{"serve", serving}}, options);
}

}  // namespace belfry
