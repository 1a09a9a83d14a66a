// Trains a DNNClassifier over two towers and exports it.
// usage: estimator_peer FOLDER   makes FOLDER/model, FOLDER/export/<seconds>/, and what the other side has to find
// there:
//                                FOLDER/predictions.json and FOLDER/variables.json; prints the export's path.
#include <ATen/ATen.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint_manager.h"
#include "checkpoint/checkpoint_reader.h"
#include "core/file_system.h"
#include "data/dataset.h"
#include "described.h"
#include "estimator/canned/dnn_classifier.h"
#include "optimizers/adam.h"
#include "towers/replicate_model_fn.h"

using namespace belfry;
using belfry::testing::described;
using Json = nlohmann::json;

namespace {

constexpr int64_t kRows = 60;

const std::vector<std::string> kClasses{"low", "mid", "high"};

Features features() {
  const at::Tensor rows = at::arange(kRows, at::kFloat);
  return {{"x", at::stack({(rows * 1.3).sin(), (rows * 0.7).cos()}, 1)}, {"z", (rows / kRows).unsqueeze(1)}};
}

StringTensor labels() {
  std::vector<std::string> names;
  for (int64_t i = 0; i < kRows; ++i) names.push_back(kClasses[static_cast<size_t>(i % 3)]);
  return StringTensor(std::move(names));
}

// Of the newest checkpoint, but for strings.
Json variables(const std::string& model_dir) {
  const CheckpointReader reader(CheckpointManager(model_dir).latest().prefix.value());
  Json all;
  for (const CheckpointVariable& variable : reader.variables()) {
    if (!variable.is_strings) all[variable.name] = described(reader.value(variable.name));
  }
  return all;
}

void write(const std::string& path, const Json& json) { write_file_atomically(posix_file_system(), path, json.dump()); }

std::string run(const std::string& folder) {
  DNNClassifier classifier(
      {.hidden_units = {8, 6},
       .feature_columns = {feature_column::numeric_column("x", {.shape = {2}}), feature_column::numeric_column("z")},
       .n_classes = 3,
       .label_vocabulary = kClasses,
       .optimizer = Adam({.learning_rate = 0.01}),
       .batch_norm = true},
      {.model_dir = join_path(folder, "model")}, replicate({.devices = {"cpu:0", "cpu:1"}}));
  classifier.train([] { return Dataset::from_tensors(features(), labels()).repeat().batch(15); }, {.steps = 30});
  const Features served = features().narrow(0, 13);
  write(join_path(folder, "predictions.json"),
        {{"inputs", described(served)}, {"outputs", described(classifier.predict(served))}});
  write(join_path(folder, "variables.json"), variables(join_path(folder, "model")));
  const auto receiver = build_raw_serving_input_receiver_fn({{"x", {.shape = {-1, 2}}}, {"z", {.shape = {-1, 1}}}});
  const ExportResult exported = classifier.export_saved_model(join_path(folder, "export"), receiver);
  for (const FormatRefusal& refusal : exported.refusals) fail(ErrorKind::kInternal, refusal.problems.at(0));
  return exported.path;
}

}  // namespace

int main(int argc, char** argv) try {
  require(argc == 2, "usage: estimator_peer FOLDER");
  std::cout << run(argv[1]) << "\n";
  return 0;
} catch (const std::exception& error) {
  std::cerr << "estimator_peer: " << error.what() << "\n";
  return 1;
}
