// DNNClassifier against tf.estimator's: losses, variables, slots, evaluation and predictions.
#include "estimator/canned/dnn_classifier.h"
#include "estimator/feature_column/numeric_column.h"
#include "estimator/metrics/auc.h"
#include "optimizers/adagrad.h"
#include "optimizers/adam.h"
#include "optimizers/ftrl.h"
#include "optimizers/gradient_descent.h"
#include "optimizers/rms_prop.h"
#include "tests/estimator/canned/canned_data.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"
#include "towers/replicate_model_fn.h"

#include <ATen/ATen.h>

#include <functional>
#include <map>
#include <regex>
#include <set>

using namespace belfry;
using belfry::testing::check_close;
using belfry::testing::Json;
using belfry::testing::reference;
using belfry::testing::ReferenceHook;
using belfry::testing::TemporaryDirectory;

namespace {

// Takes what the arrays of the file do not say from the case's note.
using Change = std::function<void(DNNClassifierOptions&, const std::string& note)>;

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

// The name here of a variable of tf.compat.v1, whose slots are called VARIABLE/t_0/OPTIMIZER.
std::string own_name(const std::string& name) {
  static const std::map<std::string, std::pair<std::string, std::string>> kSlots{
      {"Adagrad", {"Adagrad", "accumulator"}},
      {"Adam", {"Adam", "m"}},
      {"Adam_1", {"Adam", "v"}},
      {"RMSProp", {"RMSprop", "rms"}},
      {"RMSProp_1", {"RMSprop", "momentum"}},
      {"Ftrl", {"Ftrl", "accumulator"}},
      {"Ftrl_1", {"Ftrl", "linear"}}};
  const size_t mark = name.find("/t_0/");
  if (mark == std::string::npos) return name;
  const auto& [optimizer, slot] = kSlots.at(name.substr(mark + 5));
  return "training/" + optimizer + "/" + name.substr(0, mark) + "/" + slot;
}

void check_variables(const Estimator& estimator, const Json& expected) {
  for (const auto& [tf_name, value] : expected.items()) {
    // Scalars that are settings of Keras's optimizers, and the count of v1's Adam in another form.
    if ((tf_name.starts_with("training/") || tf_name.ends_with("_power")) && !value.is_array()) continue;
    const std::string name = own_name(tf_name);
    INFO("variable " << name);
    // Ftrl's "linear" is what is left of numbers about 1 / learning_rate = 1000 times as large, in float32.
    const double absolute = name.ends_with("/linear") ? 1e-4 : 1e-6;
    check_close(estimator.get_variable_value(name).to(at::kDouble), value, 1e-5, absolute);
  }
}

constexpr const char* kCurves[] = {"auc", "auc_precision_recall"};

// Those of tf.compat.v1 are counted in another way than the head does, by metrics::auc with its name for it.
void check_v1_curves(DNNClassifier& classifier, const Case& run) {
  const Features& features = run.evaluation.features;
  const at::Tensor weights = run.options.weight_column.empty() ? at::Tensor() : features["w"];
  const at::Tensor scores = classifier.predict(features)["logistic"].squeeze(1);
  for (const char* name : kCurves) {
    INFO(name);
    const bool is_roc = name == kCurves[0];
    const Metric area = metrics::auc(run.evaluation.labels.tensor(), scores,
                                     {.curve = is_roc ? metrics::AucCurve::kRoc : metrics::AucCurve::kPr,
                                      .summation = metrics::AucSummation::kTrapezoidal,
                                      .weights = weights});
    CHECK(testing::is_close(area.value(), testing::to_number(run.json["evaluate"][name]), 1e-5, 1e-6));
  }
}

void check_evaluation(DNNClassifier& classifier, const Case& run, bool v1) {
  Json expected = run.json["evaluate"];
  if (v1 && expected.contains(kCurves[0])) {
    check_v1_curves(classifier, run);
    for (const char* name : kCurves) expected.erase(name);
  }
  testing::check_evaluation(classifier.evaluate(testing::rows_once(run.evaluation, testing::batch_size())), expected);
}

void check_case(const std::string& name, const Change& change, const ModelFnTransform& transform = {}) {
  INFO(name);
  Case run(name);
  if (change) change(run.options, run.json["note"]);
  const TemporaryDirectory directory;
  DNNClassifier classifier(run.options, {.model_dir = directory.path()}, transform);
  const auto hook = std::make_shared<ReferenceHook>(run.json["initial_variables"]);
  const auto steps = static_cast<int64_t>(run.json["loss_per_step"].size());
  classifier.train(testing::rows_around(run.training, testing::batch_size()), {.steps = steps, .hooks = {hook}});
  testing::check_losses(hook->losses, run.json["loss_per_step"]);
  check_variables(classifier, run.json["final_variables"]);
  check_evaluation(classifier, run, name.starts_with("v1_"));
  const auto rows = static_cast<int64_t>(run.json["predict"]["logits"].size());
  testing::check_predictions(classifier.predict(run.evaluation.features.narrow(0, rows)), run.json["predict"]);
}

// Names of cases, and what of their options the arrays of the file do not say.
using Cases = std::map<std::string, Change>;

void check_cases(const Cases& cases, const ModelFnTransform& transform = {}) {
  for (const auto& [name, change] : cases) check_case(name, change, transform);
}

// "label_vocabulary ['no','yes']".
void use_vocabulary(DNNClassifierOptions& options, const std::string& note) {
  const std::string list = testing::said_in(note, "label_vocabulary \\[([^\\]]*)\\]");
  const std::regex quoted("'([^']*)'");
  for (std::sregex_iterator name(list.begin(), list.end(), quoted), end; name != end; ++name) {
    options.label_vocabulary.push_back((*name)[1]);
  }
}

// "lr .05".
double rate_in(const std::string& note) { return std::stod(testing::said_in(note, "lr ([0-9.]+)")); }

Change optimizer(const CannedOptimizer& chosen) {
  return [chosen](DNNClassifierOptions& options, const std::string&) { options.optimizer = chosen; };
}

void use_sum(DNNClassifierOptions& options, const std::string&) { options.loss_reduction = LossReduction::kSum; }

void use_batch_norm(DNNClassifierOptions& options, const std::string&) { options.batch_norm = true; }

void use_tanh(DNNClassifierOptions& options, const std::string& note) {
  options.activation_fn = [](const at::Tensor& x) { return x.tanh(); };
  options.optimizer = Adam({.learning_rate = rate_in(note), .epsilon = 1e-7});
}

using MakeOptimizer = std::function<Optimizer(double rate)>;

// A class of tf.compat.v1: a summed loss, and an optimizer of the rate that its note says, or else the first case's.
Change v1(const MakeOptimizer& chosen, const Change& change = {}) {
  return [chosen, change](DNNClassifierOptions& options, const std::string& note) {
    use_sum(options, note);
    const std::string defaults = reference("canned")["canned"]["v1_dnn_classifier_2"]["note"];
    options.optimizer = chosen(rate_in(note.find("lr ") == std::string::npos ? defaults : note));
    if (change) change(options, note);
  };
}

Optimizer v1_adagrad(double rate) { return Adagrad({.learning_rate = rate}); }

Cases two_classes() { return {{"dnn_classifier_2", {}}}; }
Cases three_classes() { return {{"dnn_classifier_3", {}}}; }
Cases weighted() { return {{"dnn_classifier_2_weighted", {}}, {"dnn_classifier_3_weighted", {}}}; }
Cases named() {
  return {{"dnn_classifier_2_vocab", use_vocabulary}, {"dnn_classifier_3_vocab_weighted", use_vocabulary}};
}
Cases summed() { return {{"dnn_classifier_2_sumloss", use_sum}}; }
Cases with_tanh() { return {{"dnn_classifier_2_tanh", use_tanh}}; }
Cases normalized() { return {{"dnn_classifier_3_batchnorm", use_batch_norm}}; }
Cases by_optimizer() {
  return {{"dnn_classifier_3_opt_adagrad", optimizer("Adagrad")},
          {"dnn_classifier_3_opt_adam", optimizer("Adam")},
          {"dnn_classifier_3_opt_sgd", optimizer("SGD")},
          {"dnn_classifier_3_opt_rmsprop", optimizer("RMSProp")},
          {"dnn_classifier_3_opt_ftrl", optimizer("Ftrl")}};
}
Cases of_v1() {
  return {{"v1_dnn_classifier_2", v1(v1_adagrad)},
          {"v1_dnn_classifier_2_weighted", v1(v1_adagrad)},
          {"v1_dnn_classifier_3_batchnorm", v1(v1_adagrad, use_batch_norm)}};
}
Cases of_v1_by_optimizer() {
  const auto adam = [](double rate) { return Adam({.learning_rate = rate}); };
  const auto descent = [](double rate) { return GradientDescent({.learning_rate = rate}); };
  const auto rms_prop = [](double rate) {
    return RMSProp({.learning_rate = rate, .epsilon = 1e-10, .initial_mean_square = 1, .epsilon_inside_root = true});
  };
  const auto ftrl = [](double rate) { return Ftrl({.learning_rate = rate}); };
  return {{"v1_dnn_classifier_3_opt_adagrad", v1(v1_adagrad)},
          {"v1_dnn_classifier_3_opt_adam", v1(adam)},
          {"v1_dnn_classifier_3_opt_sgd", v1(descent)},
          {"v1_dnn_classifier_3_opt_rmsprop", v1(rms_prop)},
          {"v1_dnn_classifier_3_opt_ftrl", v1(ftrl)}};
}

}  // namespace

TEST_CASE("canned: every case of a DNNClassifier in the file is one of those below", "[canned][E88]") {
  std::set<std::string> known;
  for (const Cases& cases : {two_classes(), three_classes(), weighted(), named(), summed(), with_tanh(), normalized(),
                             by_optimizer(), of_v1(), of_v1_by_optimizer()}) {
    for (const auto& [name, change] : cases) known.insert(name);
  }
  std::set<std::string> in_file;
  const Json file = reference("canned")["canned"];
  for (const auto& [name, json] : file.items()) {
    if (name.find("dnn_classifier") != std::string::npos) in_file.insert(name);
  }
  CHECK(in_file == known);
}

TEST_CASE("canned: a DNNClassifier of two classes gives TensorFlow's numbers", "[canned][E77][E88][E111][E125]") {
  check_cases(two_classes());
}

TEST_CASE("canned: a DNNClassifier of three classes gives TensorFlow's numbers", "[canned][E78][E88][E110]") {
  check_cases(three_classes());
}

TEST_CASE("canned: weights of rows count as in TensorFlow's DNNClassifier", "[canned][E75][E86]") {
  check_cases(weighted());
}

TEST_CASE("canned: labels by name count as in TensorFlow's DNNClassifier", "[canned][E87]") { check_cases(named()); }

TEST_CASE("canned: a summed loss gives TensorFlow's numbers", "[canned][E75]") { check_cases(summed()); }

TEST_CASE("canned: another activation and a given Adam give TensorFlow's numbers", "[canned][E88][E113]") {
  check_cases(with_tanh());
}

TEST_CASE("canned: batch normalization behind hidden layers gives TensorFlow's numbers", "[canned][E88]") {
  check_cases(normalized());
}

TEST_CASE("canned: an optimizer by name is the one of Keras", "[canned][E116]") { check_cases(by_optimizer()); }

TEST_CASE("canned: with a summed loss and v1's optimizer a DNNClassifier is that of tf.compat.v1",
          "[canned][E85][E86][E88][E111]") {
  check_cases(of_v1());
}

TEST_CASE("canned: the optimizers of tf.compat.v1 give its DNNClassifier's numbers",
          "[canned][E111][E112][E113][E114][E115]") {
  check_cases(of_v1_by_optimizer());
}

TEST_CASE("canned: over three towers a DNNClassifier still gives TensorFlow's numbers", "[canned][E88][R12]") {
  const ModelFnTransform towers = replicate({.devices = {"cpu:0", "cpu:1", "cpu:2"}});
  for (const Cases& cases : {weighted(), named(), summed(), of_v1()}) {
    for (const auto& [name, change] : cases) {
      // Each tower normalizes by its own rows, as in TensorFlow.
      if (name.find("batchnorm") == std::string::npos) check_case(name, change, towers);
    }
  }
}
