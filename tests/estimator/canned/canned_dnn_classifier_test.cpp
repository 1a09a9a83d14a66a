// DNNClassifier against tf.estimator's: losses, variables, slots, evaluation and predictions.
#include "estimator/canned/dnn_classifier.h"
#include "estimator/feature_column/numeric_column.h"
#include "optimizers/adam.h"
#include "tests/estimator/canned/canned_data.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"
#include "towers/replicate_model_fn.h"

#include <ATen/ATen.h>

#include <functional>

using namespace belfry;
using belfry::testing::check_close;
using belfry::testing::Json;
using belfry::testing::reference;
using belfry::testing::ReferenceHook;
using belfry::testing::TemporaryDirectory;

namespace {

using Change = std::function<void(DNNClassifierOptions&)>;

// One case of canned.json: its arrays, and the options that its variables' shapes and its features say.
struct Case {
  explicit Case(const std::string& name) : json(reference("canned")["canned"][name]) {
    const Json data = reference("canned")["data"];
    training = testing::batch_of(data["train"], json["features"], json["label"]);
    evaluation = testing::batch_of(data["eval"], json["features"], json["label"]);
    const Json& initial = json["initial_variables"];
    for (int layer = 0; initial.contains(bias_name(layer)); ++layer) {
      options.hidden_units.push_back(static_cast<int64_t>(initial[bias_name(layer)].size()));
    }
    const auto logits = static_cast<int64_t>(initial["dnn/logits/bias"].size());
    options.n_classes = logits == 1 ? 2 : logits;
    for (const Json& feature : json["features"]) {
      if (feature == "w") {
        options.weight_column = "w";
      } else {
        const at::Tensor& x = training.features[feature.get<std::string>()];
        options.feature_columns.push_back(feature_column::numeric_column(feature, {.shape = {x.size(1)}}));
      }
    }
  }

  static std::string bias_name(int layer) { return "dnn/hiddenlayer_" + std::to_string(layer) + "/bias"; }

  Json json;
  Batch training;
  Batch evaluation;
  DNNClassifierOptions options;
};

constexpr int64_t kBatch = 8;

void check_variables(const Estimator& estimator, const Json& expected) {
  for (const auto& [name, value] : expected.items()) {
    // Keras's optimizers save their settings, which are scalars.
    if (name.starts_with("training/") && !value.is_array()) continue;
    INFO("variable " << name);
    // Ftrl's "linear" is what is left of numbers about 1 / learning_rate = 1000 times as large, in float32.
    const double absolute = name.ends_with("/linear") ? 1e-4 : 1e-6;
    check_close(estimator.get_variable_value(name).to(at::kDouble), value, 1e-5, absolute);
  }
}

void check_case(const std::string& name, const Change& change = {}, const ModelFnTransform& transform = {}) {
  INFO(name);
  Case run(name);
  if (change) change(run.options);
  const TemporaryDirectory directory;
  DNNClassifier classifier(run.options, {.model_dir = directory.path()}, transform);
  const auto hook = std::make_shared<ReferenceHook>(run.json["initial_variables"]);
  const auto steps = static_cast<int64_t>(run.json["loss_per_step"].size());
  classifier.train(testing::rows_around(run.training, kBatch), {.steps = steps, .hooks = {hook}});
  testing::check_losses(hook->losses, run.json["loss_per_step"]);
  check_variables(classifier, run.json["final_variables"]);
  testing::check_evaluation(classifier.evaluate(testing::rows_once(run.evaluation, kBatch)), run.json["evaluate"]);
  const auto rows = static_cast<int64_t>(run.json["predict"]["logits"].size());
  testing::check_predictions(classifier.predict(run.evaluation.features.narrow(0, rows)), run.json["predict"]);
}

Change vocabulary(std::vector<std::string> names) {
  return [names](DNNClassifierOptions& options) { options.label_vocabulary = names; };
}

Change optimizer(const CannedOptimizer& chosen) {
  return [chosen](DNNClassifierOptions& options) { options.optimizer = chosen; };
}

void use_tanh(DNNClassifierOptions& options) {
  options.activation_fn = [](const at::Tensor& x) { return x.tanh(); };
  options.optimizer = Adam({.learning_rate = 0.01, .epsilon = 1e-7});
}

}  // namespace

TEST_CASE("canned: a DNNClassifier of two classes gives TensorFlow's numbers", "[canned][E77][E88][E111][E125]") {
  check_case("dnn_classifier_2");
}

TEST_CASE("canned: a DNNClassifier of three classes gives TensorFlow's numbers", "[canned][E78][E88][E110]") {
  check_case("dnn_classifier_3");
}

TEST_CASE("canned: weights of rows count as in TensorFlow's DNNClassifier", "[canned][E75][E86]") {
  check_case("dnn_classifier_2_weighted");
  check_case("dnn_classifier_3_weighted");
}

TEST_CASE("canned: labels by name count as in TensorFlow's DNNClassifier", "[canned][E87]") {
  check_case("dnn_classifier_2_vocab", vocabulary({"no", "yes"}));
  check_case("dnn_classifier_3_vocab_weighted", vocabulary({"low", "mid", "high"}));
}

TEST_CASE("canned: a summed loss gives TensorFlow's numbers", "[canned][E75]") {
  check_case("dnn_classifier_2_sumloss", [](auto& options) { options.loss_reduction = LossReduction::kSum; });
}

TEST_CASE("canned: another activation and a given Adam give TensorFlow's numbers", "[canned][E88][E113]") {
  check_case("dnn_classifier_2_tanh", use_tanh);
}

TEST_CASE("canned: batch normalization behind hidden layers gives TensorFlow's numbers", "[canned][E88]") {
  check_case("dnn_classifier_3_batchnorm", [](auto& options) { options.batch_norm = true; });
}

TEST_CASE("canned: an optimizer by name is the one of Keras", "[canned][E116]") {
  check_case("dnn_classifier_3_opt_adagrad", optimizer("Adagrad"));
  check_case("dnn_classifier_3_opt_adam", optimizer("Adam"));
  check_case("dnn_classifier_3_opt_sgd", optimizer("SGD"));
  check_case("dnn_classifier_3_opt_rmsprop", optimizer("RMSProp"));
  check_case("dnn_classifier_3_opt_ftrl", optimizer("Ftrl"));
}

TEST_CASE("canned: over three towers a DNNClassifier still gives TensorFlow's numbers", "[canned][E88][R12]") {
  const ModelFnTransform towers = replicate({.devices = {"cpu:0", "cpu:1", "cpu:2"}});
  check_case("dnn_classifier_2_weighted", {}, towers);
  check_case("dnn_classifier_3_vocab_weighted", vocabulary({"low", "mid", "high"}), towers);
  check_case(
      "dnn_classifier_2_sumloss", [](auto& options) { options.loss_reduction = LossReduction::kSum; }, towers);
}
