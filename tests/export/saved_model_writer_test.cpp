#include "export/saved_model_writer.h"

#include <google/protobuf/text_format.h>
#include <torch/torch.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "belfry/core/saved_model.pb.h"
#include "export/internal/traced_model.h"
#include "export/receiver_builder.h"
#include "export_cases.h"
#include "loaded_model.h"
#include "receiver_models.h"
#include "tests/support/check_fails.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"

using namespace belfry;
using namespace belfry::testing;

namespace {

SavedModel written(const TraceRequest& request, const SavedModelOptions& options = {}) {
  const Trace traced = trace(request);
  return saved_model_bytes(serving_graph(traced, request.receiver, default_signature(traced)), options);
}

proto::MetaGraphDef decoded(const SavedModel& model) {
  INFO((model.problems.empty() ? "" : model.problems[0]));
  REQUIRE(model.problems.empty());
  proto::SavedModel message;
  REQUIRE(message.ParseFromString(model.bytes));
  REQUIRE(message.meta_graphs_size() == 1);
  return message.meta_graphs(0);
}

std::map<std::string, proto::NodeDef> nodes_of(const proto::MetaGraphDef& meta) {
  std::map<std::string, proto::NodeDef> nodes;
  for (const proto::NodeDef& node : meta.graph_def().node()) nodes[node.name()] = node;
  return nodes;
}

// Attributes without a default, which TensorFlow's loaders insist on.
const std::map<std::string, std::vector<std::string>>& required_attributes() {
  static const std::map<std::string, std::vector<std::string>> required{
      {"Placeholder", {"dtype"}},
      {"Enter", {"T", "frame_name"}},
      {"Merge", {"T", "N"}},
      {"TensorArrayV3", {"dtype", "element_shape"}},
      {"TensorArrayGatherV3", {"dtype", "element_shape"}},
      {"Const", {"dtype", "value"}},
      {"MatMul", {"T"}},
      {"BatchMatMulV2", {"T"}},
      {"Cast", {"SrcT", "DstT"}},
      {"ConcatV2", {"N", "T"}},
      {"Pack", {"N", "T"}},
      {"Unpack", {"num", "T"}},
      {"Split", {"num_split", "T"}},
      {"SplitV", {"num_split", "T"}},
      {"StridedSlice", {"T", "Index"}},
      {"GatherV2", {"Tparams", "Tindices", "Taxis"}},
      {"GatherNd", {"Tparams", "Tindices"}},
      {"TensorScatterUpdate", {"T", "Tindices"}},
      {"TensorScatterAdd", {"T", "Tindices"}},
      {"Conv2D", {"T", "strides", "padding"}},
      {"Conv3D", {"T", "strides", "padding"}},
      {"Conv2DBackpropInput", {"T", "strides", "padding"}},
      {"DepthwiseConv2dNative", {"T", "strides", "padding"}},
      {"MaxPool", {"ksize", "strides", "padding"}},
      {"AvgPool", {"ksize", "strides", "padding", "T"}},
      {"MaxPool3D", {"ksize", "strides", "padding", "T"}},
      {"AvgPool3D", {"ksize", "strides", "padding", "T"}},
      {"MirrorPad", {"T", "mode"}},
      {"Einsum", {"equation", "N", "T"}},
      {"ParseExampleV2",
       {"Tdense", "dense_shapes", "num_sparse", "sparse_types", "ragged_value_types", "ragged_split_types"}},
      {"HashTableV2", {"key_dtype", "value_dtype"}},
      {"LookupTableFindV2", {"Tin", "Tout"}},
      {"VarHandleOp", {"dtype", "shape"}},
      {"ReadVariableOp", {"dtype"}},
      {"AssignVariableOp", {"dtype"}},
      {"RestoreV2", {"dtypes"}},
      {"SaveV2", {"dtypes"}},
      {"Fill", {"T"}}};
  return required;
}

const std::set<std::string>& without_type() {
  static const std::set<std::string> names{"LoopCond",
                                           "TensorArrayV3",
                                           "TensorArrayGatherV3",
                                           "LogicalAnd",
                                           "LogicalOr",
                                           "LogicalNot",
                                           "Any",
                                           "All",
                                           "Where",
                                           "Range",
                                           "Placeholder",
                                           "Const",
                                           "Cast",
                                           "GatherV2",
                                           "GatherNd",
                                           "VarHandleOp",
                                           "ReadVariableOp",
                                           "AssignVariableOp",
                                           "RestoreV2",
                                           "SaveV2",
                                           "NoOp",
                                           "HashTableV2",
                                           "InitializeTableV2",
                                           "InitializeTableFromTextFileV2",
                                           "LookupTableFindV2",
                                           "ParseExampleV2",
                                           "StringToHashBucketFast"};
  return names;
}

// Everything that a loader would find wrong without running the graph.
void check_nodes(const proto::MetaGraphDef& meta) {
  const auto nodes = nodes_of(meta);
  CHECK(nodes.size() == static_cast<size_t>(meta.graph_def().node_size()));  // no name comes twice
  for (const auto& [name, node] : nodes) {
    INFO(name << " = " << node.op());
    CHECK(std::regex_match(name, std::regex("[A-Za-z0-9.][A-Za-z0-9_.\\\\/>-]*")));
    if (!without_type().contains(node.op())) CHECK(node.attr().contains("T"));
    const auto required = required_attributes().find(node.op());
    if (required != required_attributes().end()) {
      for (const std::string& attribute : required->second) CHECK(node.attr().contains(attribute));
    }
    for (const std::string& input : node.input()) {
      const std::string source = input.substr(input.starts_with('^') ? 1 : 0);
      CHECK(nodes.contains(source.substr(0, source.find(':'))));
    }
  }
}

}  // namespace

TEST_CASE("Every case is written with whole nodes", "[export][savedmodel]") {
  for (const ExportCase& one : all_export_cases()) {
    INFO(one.name);
    const SavedModel model = written(one.request);
    const std::string problem = model.problems.empty() ? "" : model.problems[0];
    CHECK(problem.empty());
    if (problem.empty()) check_nodes(decoded(model));
  }
}

TEST_CASE("A SavedModel has one graph to serve, with its signatures", "[export][savedmodel]") {
  const auto meta = decoded(written(wide_and_deep_request()));
  REQUIRE(meta.meta_info_def().tags_size() == 1);
  CHECK(meta.meta_info_def().tags(0) == "serve");
  CHECK(meta.meta_info_def().stripped_default_attrs());
  CHECK(meta.graph_def().versions().producer() == 1395);
  const auto& signature = meta.signature_def().at(kServingDefault);
  CHECK(signature.method_name() == "tensorflow/serving/predict");
  REQUIRE(signature.inputs_size() == 3);
  REQUIRE(signature.outputs_size() == 2);
  const auto& ids = signature.inputs().at("ids");
  CHECK(ids.name() == "ids:0");
  CHECK(ids.dtype() == proto::DT_INT64);
  REQUIRE(ids.tensor_shape().dim_size() == 1);
  CHECK(ids.tensor_shape().dim(0).size() == -1);
  const auto& logits = signature.outputs().at("logits");
  CHECK(logits.dtype() == proto::DT_FLOAT);
  REQUIRE(logits.tensor_shape().dim_size() == 2);
  CHECK(logits.tensor_shape().dim(0).size() == -1);
  CHECK(logits.tensor_shape().dim(1).size() == 3);
  CHECK(nodes_of(meta).contains("serving_default/logits"));
}

TEST_CASE("Weights are constants named after their variables", "[export][savedmodel]") {
  const TraceRequest request = wide_and_deep_request();
  const auto nodes = nodes_of(decoded(written(request)));
  for (const auto& [name, tensor] : request.variables) {
    INFO(name);
    REQUIRE(nodes.contains(name));
    CHECK(nodes.at(name).op() == "Const");
    const auto& value = nodes.at(name).attr().at("value").tensor();
    const at::Tensor whole = tensor.contiguous();
    CHECK(value.tensor_content() == std::string(static_cast<const char*>(whole.const_data_ptr()), whole.nbytes()));
  }
}

TEST_CASE("A weight that is used twice in one layout is written once", "[export][savedmodel]") {
  torch::nn::Conv1d conv(torch::nn::Conv1dOptions(4, 4, 3).padding(1));
  torch::nn::LSTM lstm(torch::nn::LSTMOptions(6, 6).batch_first(true));
  lstm->eval();
  NamedTensors variables = named_tensors("conv", *conv);
  for (const auto& one : named_tensors("lstm", *lstm)) variables.push_back(one);
  const auto function = [=](const at::Tensor& x) mutable {
    const at::Tensor once = std::get<0>(lstm->forward(conv->forward(x)));
    return std::get<0>(lstm->forward(conv->forward(once)));
  };
  const SavedModel model =
      written(request_of(function, {.shape = {-1, 4, 6}}, variables), {.weights = SavedModelWeights::kVariables});
  std::vector<std::string> names;
  for (const auto& [name, tensor] : model.variables) names.push_back(name);
  std::sort(names.begin(), names.end());
  // The two weights of an LSTM are one in TensorFlow, and so are its biases.
  const std::vector<std::string> wanted{"conv/bias", "conv/weight", "lstm/bias_ih_l0", "lstm/weight_ih_l0"};
  CHECK(names == wanted);
}

TEST_CASE("The same model gives the same SavedModel", "[export][savedmodel]") {
  const TraceRequest request = attention_request();
  CHECK(written(request).bytes == written(request).bytes);
}

TEST_CASE("Names of any letters stay in the signature", "[export][savedmodel]") {
  const auto function = [](const Features& features) -> TensorDict {
    return {{"größe !", features["_x y"] * 2}, {"größe ?", features["_x y"] * 3}};
  };
  const auto meta = decoded(written({function, ServingInputReceiver(Specs{{"_x y", {.shape = {-1, 2}}}}), {}}));
  check_nodes(meta);
  const auto& signature = meta.signature_def().at(kServingDefault);
  CHECK(signature.inputs().contains("_x y"));
  CHECK(signature.outputs().contains("größe !"));
  CHECK(signature.outputs().at("größe !").name() != signature.outputs().at("größe ?").name());
}

TEST_CASE("What only ONNX expresses is refused", "[export][savedmodel][refusal]") {
  for (const ExportCase& one : onnx_only_cases()) {
    INFO(one.name);
    const SavedModel model = written(one.request);
    CHECK(model.bytes.empty());
    CHECK_FALSE(model.problems.empty());
  }
}

TEST_CASE("Names that differ in case alone are names of different nodes all the same", "[export][savedmodel]") {
  const auto function = [](const Features& features) -> TensorDict {
    return {{"Y", features["x"] * 2}, {"y", features["x"] * 3}};
  };
  const auto meta = decoded(written({function, ServingInputReceiver(Specs{{"x", {.shape = {-1, 2}}}}), {}}));
  std::set<std::string> names;
  for (const auto& [name, node] : nodes_of(meta)) {
    std::string lower = name;
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    CHECK(names.insert(lower).second);
  }
}

TEST_CASE("Every operation that TensorFlow lacks is told with its places", "[export][savedmodel][refusal]") {
  torch::nn::Sequential net(torch::nn::Linear(6, 6), torch::nn::Linear(6, 6));
  const auto function = [net](const at::Tensor& x) mutable {
    const at::Tensor y = net->children()[0]->as<torch::nn::Linear>()->forward(x).sinh();
    const at::Tensor z = net->children()[1]->as<torch::nn::Linear>()->forward(y).sinh();
    return at::max_pool1d(z, 2, 1, 0, 2).cumprod(2);
  };
  const SavedModel model = written(request_of(function, {.shape = {-1, 4, 6}}, named_tensors("net", *net)));
  CHECK(model.bytes.empty());
  REQUIRE(model.problems.size() == 3);
  CHECK_THAT(model.problems[0], Catch::StartsWith("aten::cumprod: "));
  CHECK_THAT(model.problems[1], Catch::Contains("aten::sinh") && Catch::Contains("2 times") &&
                                    Catch::Contains("'net/0/") && Catch::Contains("'net/1/"));
  CHECK_THAT(model.problems[2], Catch::StartsWith("max_pool: TensorFlow has no dilations"));
}

TEST_CASE("Weights too large for a message become variables, unless constants are asked for", "[export][savedmodel]") {
  const TraceRequest request = wide_and_deep_request();
  const SavedModel model = written(request, {.constant_bytes_limit = 500});
  const auto meta = decoded(model);
  check_nodes(meta);
  const auto nodes = nodes_of(meta);
  CHECK(model.variables.size() == request.variables.size());
  for (const auto& [name, tensor] : model.variables) {
    INFO(name);
    REQUIRE(nodes.contains(name));
    CHECK(nodes.at(name).op() == "VarHandleOp");
    CHECK(nodes.at(name).attr().at("shared_name").s() == name);
  }
  CHECK(nodes.contains(meta.saver_def().restore_op_name()));
  CHECK(meta.saver_def().version() == proto::SaverDef::V2);
  const SavedModel refused = written(request, {.weights = SavedModelWeights::kConstants, .constant_bytes_limit = 100});
  CHECK(refused.bytes.empty());
  REQUIRE(refused.problems.size() == 1);
  CHECK_THAT(refused.problems[0], Catch::Contains("a SavedModel holds 100"));
}

TEST_CASE("Constants beyond the limit that are no weights are refused", "[export][savedmodel][refusal]") {
  const at::Tensor table = at::randn({100, 6});  // no variable
  const auto function = [table](const at::Tensor& x) { return at::linear(x, table); };
  const SavedModel model = written(request_of(function), {.constant_bytes_limit = 1000});
  CHECK(model.bytes.empty());
  CHECK_THAT(model.problems.at(0), Catch::Contains("a SavedModel holds 1000"));
}

TEST_CASE("A SavedModel can be text", "[export][savedmodel]") {
  const TraceRequest request = wide_and_deep_request();
  const std::string text = written(request, {.as_text = true}).bytes;
  proto::SavedModel message;
  REQUIRE(google::protobuf::TextFormat::ParseFromString(text, &message));
  CHECK(message.meta_graphs(0).meta_info_def().tags(0) == "serve");
  CHECK(written(request, {.as_text = true}).bytes == text);
}

namespace {

SavedModel written(const ExportRequest& request) {
  const internal::TracedModel model = internal::trace_model(request);
  return saved_model_bytes(serving_graph(model.trace, request.receiver, model.signatures));
}

std::string method_of(const proto::MetaGraphDef& meta, const std::string& signature) {
  return meta.signature_def().at(signature).method_name();
}

// A receiver of examples in front of these outputs of "x" [-1, 3].
proto::MetaGraphDef of_examples(const std::function<ExportOutputs(const at::Tensor& x)>& outputs) {
  const auto receiver = build_parsing_serving_input_receiver_fn({{"x", FixedLenFeature{.shape = {3}}}});
  return decoded(written(ExportRequest{
      .function = [outputs](const Features& features) { return outputs(features["x"]); }, .receiver = receiver()}));
}

}  // namespace

TEST_CASE("Examples are parsed in the graph, for the methods that send them", "[export][savedmodel][E64][E67][E68]") {
  const TemporaryDirectory folder;
  const SavedModel model = written(examples_model(folder.path()).request);
  const auto meta = decoded(model);
  check_nodes(meta);
  CHECK(method_of(meta, kServingDefault) == "tensorflow/serving/classify");
  CHECK(method_of(meta, "regression") == "tensorflow/serving/regress");
  CHECK(method_of(meta, "predict") == "tensorflow/serving/predict");
  const auto& classify = meta.signature_def().at(kServingDefault);
  REQUIRE(classify.inputs().contains("inputs"));
  CHECK(classify.inputs().at("inputs").dtype() == proto::DT_STRING);
  CHECK(classify.outputs().at("classes").dtype() == proto::DT_STRING);
  CHECK(classify.outputs().at("scores").dtype() == proto::DT_FLOAT);
  CHECK(meta.signature_def().at("predict").inputs().contains("examples"));
  const proto::NodeDef parse = nodes_of(meta).at("ParseExample");
  CHECK(parse.attr().at("Tdense").list().type_size() == 3);
  CHECK(parse.attr().contains("sparse_types"));
  // The vocabulary is a file of the export, which is read before the first request.
  REQUIRE(model.assets.size() == 1);
  CHECK(model.assets[0].name == "colors.txt");
  CHECK(model.assets[0].bytes == "red\ngreen\ngröße\nblue\n");
  REQUIRE(meta.asset_file_def_size() == 1);
  CHECK(meta.asset_file_def(0).filename() == "colors.txt");
  const auto& main_op = meta.collection_def().at("saved_model_main_op").node_list();
  REQUIRE(main_op.value_size() == 1);
  CHECK(nodes_of(meta).contains(main_op.value(0)));
}

TEST_CASE("Vocabularies of one file name and different words are files of different names", "[export][savedmodel]") {
  const TemporaryDirectory folder;
  posix_file_system().make_directories(folder.file("a"));
  posix_file_system().make_directories(folder.file("b"));
  const auto words = [&](const std::string& path, const std::string& text) {
    write_file_atomically(posix_file_system(), folder.file(path), text);
    return Vocabulary::from_file(folder.file(path));
  };
  const Vocabulary first = words("a/words.txt", "x\n");
  const Vocabulary second = words("b/words.txt", "y\n");
  ReceiverBuilder receiver;
  const GraphValue word = receiver.input("word", {.dtype = kString, .shape = {-1}});
  receiver.set_feature("one", receiver.graph().vocabulary_lookup(word, first), 0, 1);
  receiver.set_feature("two", receiver.graph().vocabulary_lookup(word, second), 0, 1);
  receiver.set_feature("again", receiver.graph().vocabulary_lookup(word, first), 0, 1);
  const SavedModel model = written(ExportRequest{
      .function = [](const Features& features) -> ExportOutputs {
        return {{kServingDefault, PredictOutput{{{"y", features["one"] + features["two"] + features["again"]}}}}};
      },
      .receiver = std::move(receiver).build()});
  REQUIRE(model.assets.size() == 2);
  CHECK(model.assets[0].name == "words.txt");
  CHECK(model.assets[0].bytes == "x\n");
  CHECK(model.assets[1].name == "words.txt_1");
  CHECK(model.assets[1].bytes == "y\n");
}

TEST_CASE("What Classify and Regress would refuse is served by Predict", "[export][savedmodel][E67][E68]") {
  const auto meta = of_examples([](const at::Tensor& x) -> ExportOutputs {
    const at::Tensor best = x.argmax(1, true);
    return {{kServingDefault, ClassificationOutput{x, best, {"a", "b", "c"}}},
            {"pair", RegressionOutput{x.narrow(1, 0, 2)}}};
  });
  CHECK(method_of(meta, kServingDefault) == "tensorflow/serving/predict");
  CHECK(method_of(meta, "pair") == "tensorflow/serving/predict");
  // Column i of scores with names and without ids is class i.
  const auto named = of_examples([](const at::Tensor& x) -> ExportOutputs {
    return {{kServingDefault, ClassificationOutput{x.to(at::kDouble), {}, {"a", "b", "c"}}}};
  });
  const auto& outputs = named.signature_def().at(kServingDefault).outputs();
  CHECK(method_of(named, kServingDefault) == "tensorflow/serving/classify");
  CHECK(outputs.at("scores").dtype() == proto::DT_FLOAT);
  REQUIRE(outputs.contains("classes"));
  CHECK(outputs.at("classes").tensor_shape().dim(1).size() == 3);
}

TEST_CASE("Several graphs share their variables", "[export][savedmodel][E13]") {
  const at::Tensor weight = at::randn({2, 6});
  const auto function = [weight](const at::Tensor& x) { return at::linear(x, weight); };
  const TraceRequest request = request_of(function, {.shape = {-1, 4, 6}}, {{"net/weight", weight}});
  const Trace traced = trace(request);
  const auto graph = [&] { return serving_graph(traced, request.receiver, default_signature(traced)); };
  const SavedModel model = saved_model_bytes({{"eval", graph()}, {"serve", graph()}});
  REQUIRE(model.variables.size() == 1);
  CHECK(model.variables[0].first == "net/weight");
  proto::SavedModel message;
  REQUIRE(message.ParseFromString(model.bytes));
  REQUIRE(message.meta_graphs_size() == 2);
  CHECK(message.meta_graphs(0).meta_info_def().tags(0) == "eval");
  CHECK(message.meta_graphs(1).meta_info_def().tags(0) == "serve");
}
