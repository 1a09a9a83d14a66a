// What a run of a DNNClassifier leaves on disk, against tf.estimator's: summaries, checkpoints, signatures.
#include <torch/script.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_manager.h"
#include "core/file_system.h"
#include "estimator/canned/dnn_classifier.h"
#include "estimator/feature_column/numeric_column.h"
#include "estimator/summaries/event_reader.h"
#include "tests/estimator/canned/canned_data.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"

using namespace belfry;
using belfry::testing::Json;
using belfry::testing::reference;
using belfry::testing::TemporaryDirectory;

namespace {

// As about.run_settings says.
RunConfig settings(const std::string& model_dir) {
  const std::string text = reference("canned")["about"]["run_settings"];
  const auto number = [&](const std::string& name) {
    return std::stoll(testing::said_in(text, (name + " ([0-9]+)").c_str()));
  };
  return {.model_dir = model_dir,
          .save_checkpoints_steps = number("save_checkpoints_steps"),
          .save_summary_steps = number("save_summary_steps"),
          .log_step_count_steps = number("log_step_count_steps")};
}

// One case of canned.json, trained and evaluated in a folder of its own.
struct Run {
  explicit Run(const std::string& name, int64_t n_classes) : json(reference("canned")["canned"][name]) {
    const Json data = reference("canned")["data"];
    const Batch training = testing::batch_of(data["train"], json["features"], json["label"]);
    DNNClassifierOptions options{.n_classes = n_classes};
    for (int layer = 0; json["initial_variables"].contains(bias_name(layer)); ++layer) {
      options.hidden_units.push_back(static_cast<int64_t>(json["initial_variables"][bias_name(layer)].size()));
    }
    for (const auto& [feature, value] : training.features) {
      options.feature_columns.push_back(feature_column::numeric_column(feature, {.shape = {value.tensor().size(1)}}));
      inputs[feature] = {.shape = {-1, value.tensor().size(1)}};
    }
    classifier = std::make_unique<DNNClassifier>(options, settings(directory.path()));
    classifier->train(testing::rows_around(training, testing::batch_size()),
                      {.steps = static_cast<int64_t>(json["loss_per_step"].size())});
    const Batch evaluation = testing::batch_of(data["eval"], json["features"], json["label"]);
    classifier->evaluate(testing::rows_once(evaluation, testing::batch_size()));
  }

  static std::string bias_name(int layer) { return "dnn/hiddenlayer_" + std::to_string(layer) + "/bias"; }

  TemporaryDirectory directory;
  Json json;
  std::map<std::string, TensorSpec> inputs;
  std::unique_ptr<DNNClassifier> classifier;
};

std::string kind_of(const SummaryValue& value) {
  if (std::holds_alternative<double>(value.value)) return "simple_value";
  if (std::holds_alternative<SummaryHistogram>(value.value)) return "histo";
  return "tensor";  // of strings too
}

// In the form of the file: {tag: {kind, steps}}.
Json tags_of(const std::string& directory) {
  Json tags = Json::object();
  for (const std::string& path : list_event_files(posix_file_system(), directory)) {
    EventFileReader events(posix_file_system(), path);
    for (SummaryEvent event; events.next(event);) {
      for (const SummaryValue& value : event.values) {
        tags[value.tag]["kind"] = kind_of(value);
        tags[value.tag]["steps"].push_back(event.step);
      }
    }
  }
  return tags;
}

// In the form of the file: {name: [dtype, shape]}. A tensor of the strings that a signature maps its ids to is one of
// int64 with a vocabulary here.
Json described(const Json& tensors) {
  Json all = Json::object();
  for (const Json& tensor : tensors) {
    const bool names = tensor.contains("vocabulary");
    all[tensor["name"].get<std::string>()] = {names ? Json("string") : tensor["dtype"], tensor["shape"]};
  }
  return all;
}

Json signatures_of(Run& run) {
  const std::vector<std::pair<std::string, TensorSpec>> inputs(run.inputs.begin(), run.inputs.end());
  const ExportResult result =
      run.classifier->export_saved_model(run.directory.file("exports"), build_raw_serving_input_receiver_fn(inputs));
  torch::jit::ExtraFilesMap files{{"belfry_signature.json", ""}};
  torch::jit::load(result.path + "/torchscript/model.pt", std::nullopt, files);
  return Json::parse(files["belfry_signature.json"])["signatures"];
}

}  // namespace

TEST_CASE("canned: summaries of training and evaluation have TensorFlow's tags, kinds and steps",
          "[canned][E5][E47][E123]") {
  const Run run("dnn_classifier_2", 2);
  Json expected = run.json["summary_tags_train"];
  // TensorFlow's counter begins to count at the first step, ours at the start.
  expected["global_step/sec"]["steps"] = {5, 10};
  CHECK(tags_of(run.directory.path()) == expected);
  CHECK(tags_of(run.directory.file("eval")) == run.json["summary_tags_eval"]);
  // v1's network has another scope, and its head a summary of its own in training; its evaluation has the same tags.
  CHECK(tags_of(run.directory.file("eval")) ==
        reference("canned")["canned"]["v1_dnn_classifier_2"]["summary_tags_eval"]);
}

TEST_CASE("canned: the checkpoints that are kept are those that TensorFlow keeps", "[canned][E3][E43]") {
  const Run run("dnn_classifier_2", 2);
  std::set<int64_t> steps;
  for (const std::string& name : posix_file_system().list(run.directory.path())) {
    if (name.ends_with(".index")) steps.insert(checkpoint_step(name.substr(0, name.size() - 6)).value());
  }
  CHECK(steps == run.json["checkpoint_steps_kept"].get<std::set<int64_t>>());
}

TEST_CASE("canned: the signature of predictions takes and gives what TensorFlow's does", "[canned][E70][E78]") {
  for (const auto& [name, n_classes] :
       std::map<std::string, int64_t>{{"dnn_classifier_2", 2}, {"dnn_classifier_3", 3}}) {
    CAPTURE(name);
    Run run(name, n_classes);
    const Json signature = signatures_of(run)["predict"];
    const Json& expected = run.json["signatures_raw_receiver"]["predict"];
    CHECK(signature["method_name"] == expected["method"]);
    CHECK(described(signature["inputs"]) == expected["inputs"]);
    CHECK(described(signature["outputs"]) == expected["outputs"]);
  }
}
