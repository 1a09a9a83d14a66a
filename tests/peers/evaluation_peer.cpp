// Trains a DNNClassifier, exports the graphs of its evaluation and its prediction, and evaluates and predicts one
// batch. usage: evaluation_peer FOLDER   makes FOLDER/export/<seconds>/ and FOLDER/evaluation.json: the batch's
// features and label, the metrics that Estimator::evaluate gives, and what Estimator::predict does; prints the export's
// path.
#include <ATen/ATen.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file_system.h"
#include "data/dataset.h"
#include "described.h"
#include "estimator/canned/dnn_classifier.h"

using namespace belfry;
using belfry::testing::described;
using Json = nlohmann::json;

namespace {

constexpr int64_t kRows = 60;

Features features() {
  const at::Tensor rows = at::arange(kRows, at::kFloat);
  return {{"x", at::stack({(rows * 1.3).sin(), (rows * 0.7).cos()}, 1)}};
}

Labels labels() { return at::arange(kRows, at::kLong) % 3; }

Dataset all_rows() { return Dataset::from_tensors(features(), labels()); }

std::string run(const std::string& folder) {
  DNNClassifier classifier(
      {.hidden_units = {8}, .feature_columns = {feature_column::numeric_column("x", {.shape = {2}})}, .n_classes = 3},
      {.model_dir = join_path(folder, "model")});
  classifier.train([] { return all_rows().repeat().batch(15); }, {.steps = 30});
  Json metrics = Json::object();
  const EvalResult evaluated = classifier.evaluate([] { return all_rows().batch(kRows); });
  for (const auto& [name, value] : evaluated) metrics[name] = value.item<double>();
  Json inputs = described(features());
  inputs["label"] = described(labels().only());
  write_file_atomically(
      posix_file_system(), join_path(folder, "evaluation.json"),
      Json{{"inputs", inputs}, {"metrics", metrics}, {"predictions", described(classifier.predict(features()))}}
          .dump());
  const auto serving = build_raw_serving_input_receiver_fn({{"x", {.shape = {-1, 2}}}});
  const auto supervised = build_supervised_input_receiver_fn({{"x", {.shape = {-1, 2}}}},
                                                             {{"", {.dtype = at::kLong, .shape = {-1}, .high = 3}}});
  const ExportResult exported = classifier.experimental_export_all_saved_models(
      join_path(folder, "export"), {{ModeKeys::kEval, supervised}, {ModeKeys::kPredict, serving}});
  for (const FormatRefusal& refusal : exported.refusals) {
    if (refusal.format == ExportFormat::kSavedModel) fail(ErrorKind::kInternal, refusal.problems.at(0));
  }
  return exported.path;
}

}  // namespace

int main(int argc, char** argv) try {
  require(argc == 2, "usage: evaluation_peer FOLDER");
  std::cout << run(argv[1]) << "\n";
  return 0;
} catch (const std::exception& error) {
  std::cerr << "evaluation_peer: " << error.what() << "\n";
  return 1;
}
