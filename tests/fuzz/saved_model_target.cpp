#include <google/protobuf/stubs/logging.h>

#include "belfry/core/saved_model.pb.h"
#include "tests/fuzz/fuzz_target.h"

namespace belfry::fuzz {
namespace {

// Nothing of Belfry reads these files back; what is tried is that its messages stand any bytes and keep what they
// understood.
bool run(std::string_view bytes) {
  const google::protobuf::LogSilencer silencer;  // of names that are not UTF-8
  proto::SavedModel model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return false;
  proto::SavedModel again;
  promise(again.ParseFromString(model.SerializeAsString()), "what was understood is understood again");
  promise(again.meta_graphs_size() == model.meta_graphs_size() && again.ByteSizeLong() == model.ByteSizeLong(),
          "nothing is lost on the way");
  return true;
}

std::vector<std::string> seeds() {
  proto::SavedModel model;
  model.set_saved_model_schema_version(1);
  auto& graph = *model.add_meta_graphs();
  graph.mutable_meta_info_def()->add_tags("serve");
  auto& node = *graph.mutable_graph_def()->add_node();
  node.set_name("weights");
  node.set_op("Const");
  auto& attributes = *node.mutable_attr();
  attributes["dtype"].set_type(proto::DT_FLOAT);
  auto& tensor = *attributes["value"].mutable_tensor();
  tensor.set_dtype(proto::DT_FLOAT);
  for (const int size : {2, 3}) tensor.mutable_tensor_shape()->add_dim()->set_size(size);
  tensor.set_tensor_content(std::string(24, '\x3f'));
  attributes["ids"].mutable_list()->add_i(-1);
  auto& signature = (*graph.mutable_signature_def())["serving_default"];
  signature.set_method_name("tensorflow/serving/predict");
  (*signature.mutable_inputs())["x"].set_name("x:0");
  (*graph.mutable_collection_def())["table_initializer"].mutable_node_list()->add_value("init");
  graph.add_asset_file_def()->set_filename("words.txt");
  return {model.SerializeAsString()};
}

}  // namespace

const FuzzTarget saved_model_target{"saved_model", run, seeds};

}  // namespace belfry::fuzz
