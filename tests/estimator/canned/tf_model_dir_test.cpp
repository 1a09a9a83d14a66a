// A model directory that tf.estimator trained, gone on with.
#include <ATen/ATen.h>

#include <filesystem>

#include "checkpoint/checkpoint_reader.h"
#include "estimator/canned/dnn_classifier.h"
#include "estimator/feature_column/numeric_column.h"
#include "tests/estimator/canned/canned_data.h"
#include "tests/support/reference_folder.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_data.h"
#include "tests/testing.h"

using namespace belfry;
using belfry::testing::Json;
using belfry::testing::TemporaryDirectory;

namespace {

namespace fs = std::filesystem;

const char* const kColumns[] = {"sepal_length", "sepal_width", "petal_length", "petal_width"};

InputFn rows(const std::string& file, int64_t batch, bool repeat) {
  return [=] {
    const std::string path = testing::test_data("../examples/data/" + file);
    const Dataset all = Dataset::from_csv(path, {.label = "species"});
    return (repeat ? all.repeat() : all).batch(batch);
  };
}

DNNClassifierOptions iris_options(const CheckpointReader& checkpoint) {
  DNNClassifierOptions options{.n_classes = 3, .label_vocabulary = {"setosa", "versicolor", "virginica"}};
  for (const char* column : kColumns) options.feature_columns.push_back(feature_column::numeric_column(column));
  for (int layer = 0;; ++layer) {
    const auto* bias = checkpoint.find("dnn/hiddenlayer_" + std::to_string(layer) + "/bias");
    if (!bias) return options;
    options.hidden_units.push_back(bias->shape[0]);
  }
}

void check_prediction(const Predictions& row, const Json& expected) {
  for (const auto& [name, value] : expected.items()) {
    INFO(name);
    const Value wanted = testing::to_value(value);
    if (wanted.is_strings()) {
      CHECK(row.strings(name) == wanted.strings());
    } else {
      testing::check_close(row[name], wanted.tensor());
    }
  }
}

}  // namespace

TEST_CASE("canned: a model directory that tf.estimator trained is evaluated, served from and gone on with",
          "[canned][E125][E88]") {
  const Json json = testing::reference("tf_checkpoints/iris_dnn_v2");
  const TemporaryDirectory directory;
  fs::copy(belfry::testing::tf_checkpoints_folder() + "/iris_dnn_v2", directory.path(), fs::copy_options::recursive);
  const int64_t batch = json["batch"];
  const int64_t steps = json["steps"];
  const std::string prefix = directory.file("model.ckpt-" + std::to_string(steps));
  DNNClassifier classifier(iris_options(CheckpointReader(prefix)), {.model_dir = directory.path()});
  const InputFn held_back = rows("iris_test.csv", 64, false);

  testing::check_evaluation(classifier.evaluate(held_back), json["before"]);
  size_t row = 0;
  for (const Predictions& prediction : classifier.predict(held_back)) {
    if (row == json["predictions"].size()) break;
    check_prediction(prediction, json["predictions"][row++]);
  }

  // The batches before are those of the training that TensorFlow did: the file in its order, around its end.
  const auto rest = [&] { return rows("iris_train.csv", batch, true)().skip(steps); };
  const auto hook = std::make_shared<testing::ReferenceHook>(Json::object());
  classifier.train(rest, {.steps = json["more"].get<int64_t>(), .hooks = {hook}});
  testing::check_losses(hook->losses, json["losses"]);
  testing::check_evaluation(classifier.evaluate(held_back), json["after"]);
  for (const auto& [name, sums] : json["final"].items()) {
    if (name.starts_with("training/") && json["variables"][name].empty()) continue;  // Keras's settings
    INFO(name);
    const at::Tensor value = classifier.get_variable_value(name).to(at::kDouble);
    CHECK(testing::is_close(value.sum().item<double>(), testing::to_number(sums[0]), 1e-5, 1e-5));
    CHECK(testing::is_close(value.abs().sum().item<double>(), testing::to_number(sums[1]), 1e-5, 1e-5));
  }
}
