// SavedModels behind receivers of strings and examples.

#include <functional>
#include <set>
#include <string>

#include "core/file_system.h"
#include "export/receiver_builder.h"
#include "receiver_models.h"
#include "saved_model_nodes.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"
#include "written_saved_model.h"

using namespace belfry;
using namespace belfry::testing;

namespace {

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
  // Lists that have no default, and so have to be there without elements.
  for (const char* list : {"sparse_types", "ragged_value_types", "ragged_split_types"})
    CHECK(parse.attr().contains(list));
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

TEST_CASE("Every table of a SavedModel is one of its own", "[export][savedmodel]") {
  const TemporaryDirectory folder;
  for (const ReceiverModel& model : {raw_strings_model(), examples_model(folder.path())}) {
    INFO(model.name);
    const auto meta = decoded(written(model.request));
    check_nodes(meta);
    check_signatures(meta);
    std::set<std::string> tables;
    for (const auto& [name, node] : nodes_of(meta)) {
      if (node.op() == "HashTableV2") CHECK(tables.insert(node.attr().at("shared_name").s()).second);
    }
    CHECK_FALSE(tables.empty());
    CHECK_FALSE(tables.contains(""));
  }
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
    return {{kServingDefault, ClassificationOutput{x.to(at::kDouble), {}, {"a", "b", "c"}}},
            {"price", RegressionOutput{x.narrow(1, 0, 1).to(at::kDouble)}}};
  });
  CHECK(method_of(named, "price") == "tensorflow/serving/regress");
  CHECK(named.signature_def().at("price").outputs().at("outputs").dtype() == proto::DT_FLOAT);
  const auto& outputs = named.signature_def().at(kServingDefault).outputs();
  CHECK(method_of(named, kServingDefault) == "tensorflow/serving/classify");
  CHECK(outputs.at("scores").dtype() == proto::DT_FLOAT);
  REQUIRE(outputs.contains("classes"));
  CHECK(outputs.at("classes").tensor_shape().dim(1).size() == 3);
}

TEST_CASE("An alternative is served as signatures of its own, from its tensors", "[export][savedmodel][E62]") {
  const auto meta = decoded(written(alternative_model().request));
  check_nodes(meta);
  REQUIRE(meta.signature_def_size() == 2);
  CHECK(method_of(meta, kServingDefault) == "tensorflow/serving/regress");
  CHECK(method_of(meta, "tensors:serving_default") == "tensorflow/serving/predict");
  const auto& inputs = meta.signature_def().at("tensors:serving_default").inputs();
  REQUIRE(inputs.size() == 1);
  CHECK(inputs.at("x").dtype() == proto::DT_FLOAT);
  CHECK(inputs.at("x").tensor_shape().dim(1).size() == 2);
  // One computation, whichever way the features came.
  const auto nodes = nodes_of(meta);
  const auto& alternative = nodes.at("tensors_serving_default/outputs");
  REQUIRE(alternative.input_size() == 1);
  CHECK(alternative.input(0) == nodes.at("serving_default/outputs").input(0));
}
