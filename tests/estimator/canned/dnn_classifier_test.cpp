#include "estimator/canned/dnn_classifier.h"

#include <ATen/ATen.h>
#include <torch/script.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "data/tensor_input_fn.h"
#include "estimator/feature_column/numeric_column.h"
#include "optimizers/adam.h"
#include "optimizers/gradient_descent.h"
#include "tests/support/check_fails.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"
#include "towers/replicate_model_fn.h"
#include "towers/tower_optimizer.h"

using namespace belfry;
using belfry::testing::TemporaryDirectory;
using Catch::Matchers::Contains;
using feature_column::numeric_column;

namespace {

constexpr int64_t kRows = 50;

// Classes that lie around three points, with weights, a tenth of them zero.
Batch blobs() {
  const auto columns = at::arange(kRows, at::kFloat);
  const at::Tensor x = at::stack({(columns * 1.3).sin(), (columns * 0.7).cos(), (columns * 2.1).sin()}, 1);
  const at::Tensor y = at::arange(kRows, at::kLong).remainder(3);
  const at::Tensor shifted = x + y.to(at::kFloat).unsqueeze(1) * 2;
  const at::Tensor w = at::arange(kRows, at::kFloat).remainder(10) / 4;
  Batch batch;
  batch.features = {{"x", shifted}, {"z", columns.unsqueeze(1) / kRows}, {"w", w}};
  batch.labels = y;
  return batch;
}

InputFn batches(int64_t size) {
  return [size] {
    const Batch batch = blobs();
    return Dataset::from_tensors(batch.features, batch.labels).batch(size);
  };
}

DNNClassifierOptions options_for_blobs() {
  return {.hidden_units = {8, 5},
          .feature_columns = {numeric_column("z"), numeric_column("x", {.shape = {3}})},
          .n_classes = 3,
          .weight_column = "w",
          .optimizer = Adam({.learning_rate = 0.01})};
}

ModelFnTransform three_towers() { return replicate({.devices = {"cpu:0", "cpu:1", "cpu:2"}}); }

ServingInputReceiverFn receiver() {
  return build_raw_serving_input_receiver_fn({{"x", {.shape = {-1, 3}}}, {"z", {.shape = {-1, 1}}}});
}

bool is_near(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && at::allclose(a.to(at::kDouble), b.to(at::kDouble), 1e-4, 1e-5);
}

void check_same_predictions(const Predictions& one, const Predictions& other) {
  REQUIRE(one.names() == other.names());
  for (const auto& [name, value] : one) {
    INFO(name);
    if (value.is_strings()) {
      CHECK(value.strings() == other.strings(name));
    } else {
      CHECK(value.tensor().scalar_type() == other[name].scalar_type());
      CHECK(is_near(value.tensor(), other[name]));
    }
  }
}

void check_towers(LossReduction reduction) {
  INFO(to_string(reduction));
  DNNClassifierOptions options = options_for_blobs();
  options.loss_reduction = reduction;
  const TemporaryDirectory one_directory;
  const TemporaryDirectory three_directory;
  DNNClassifier one(options, {.model_dir = one_directory.path()});
  DNNClassifier three(options, {.model_dir = three_directory.path()}, three_towers());
  for (DNNClassifier* classifier : {&one, &three})
    classifier->train(batches(7), {.steps = 8});  // 7 of 3 towers: 3, 2, 2
  for (const std::string& name : one.get_variable_names()) {
    if (name.starts_with("belfry/")) continue;
    INFO(name);
    CHECK(is_near(one.get_variable_value(name), three.get_variable_value(name)));
  }
  const EvalResult expected = one.evaluate(batches(8));
  const EvalResult actual = three.evaluate(batches(8));
  for (const auto& [name, value] : expected) {
    INFO(name);
    CHECK(is_near(value, actual.tensor(name)));
  }
  const Features few = blobs().features.narrow(0, 5);
  check_same_predictions(one.predict(few), three.predict(few));
}

// Whether the call ends with an error of that kind, whose message has all the parts.
bool fails_with(ErrorKind kind, const std::vector<std::string>& parts, const std::function<void()>& call) {
  const auto failure = testing::failure_of(call);
  if (!failure || failure->kind != kind) return false;
  for (const std::string& part : parts) {
    if (failure->message.find(part) != std::string::npos) continue;
    WARN("'" << part << "' is not in: " << failure->message);
    return false;
  }
  return true;
}

bool refuses(const std::function<void(DNNClassifierOptions&)>& change, const std::vector<std::string>& parts) {
  DNNClassifierOptions options = options_for_blobs();
  change(options);
  const TemporaryDirectory directory;
  return fails_with(ErrorKind::kInvalidArgument, parts,
                    [&] { DNNClassifier classifier(options, {.model_dir = directory.path()}); });
}

}  // namespace

TEST_CASE("a DNNClassifier over three towers gives what one device gives, whatever the reduction",
          "[canned][R12][R22]") {
  check_towers(LossReduction::kSumOverBatchSize);
  check_towers(LossReduction::kSum);
  check_towers(LossReduction::kMean);
  check_towers(LossReduction::kSumByNonzeroWeights);
}

TEST_CASE("over towers a label that is no class is named with its row of the whole batch", "[canned][E77][E86][R12]") {
  // Ten rows over three towers: rows 4 to 6 and 7 to 9 are those of towers 1 and 2.
  const Features features = blobs().features.narrow(0, 10);
  const auto refuses_labels = [&](DNNClassifierOptions options, const Labels& labels,
                                  const std::vector<std::string>& parts) {
    const TemporaryDirectory directory;
    DNNClassifier classifier(options, {.model_dir = directory.path()}, three_towers());
    const InputFn input = [&] { return Dataset::from_tensors(features, labels).batch(10); };
    return fails_with(ErrorKind::kOutOfRange, parts, [&] { classifier.train(input, {.steps = 1}); }) &&
           fails_with(ErrorKind::kOutOfRange, parts, [&] { classifier.evaluate(input); });
  };
  const auto numbers = [](int64_t bad) {
    at::Tensor labels = at::zeros({10}, at::kLong);
    labels[5] = bad;
    labels[8] = bad;
    return labels;
  };
  DNNClassifierOptions options = options_for_blobs();
  CHECK(refuses_labels(options, numbers(3), {"class 3", "row 5 of the batch"}));
  DNNClassifierOptions binary = options;
  binary.n_classes = 2;
  CHECK(refuses_labels(binary, numbers(2), {"label 2", "row 5 of the batch"}));
  options.label_vocabulary = {"a", "b", "c"};
  std::vector<std::string> names(10, "b");
  names[7] = "d";
  CHECK(refuses_labels(options, StringTensor(names), {"'d'", "row 7 of the batch"}));
}

TEST_CASE("an optimizer that is no TowerOptimizer is made one, and one that is stays", "[canned]") {
  const Optimizer plain = GradientDescent({.learning_rate = 0.5});
  CHECK(CannedOptimizer(plain).optimizer().is_tower_optimizer());
  CHECK(CannedOptimizer(TowerOptimizer(plain)).optimizer().is_tower_optimizer());
  CHECK(CannedOptimizer("RMSProp").optimizer().name() == "RMSprop");
  int calls = 0;
  const CannedOptimizer deferred([&] { return ++calls, Optimizer(plain); });
  CHECK(calls == 0);
  CHECK(deferred.optimizer().learning_rate(0) == 0.5);
  CHECK(deferred.optimizer().name() == "SGD");
  CHECK(calls == 1);
}

TEST_CASE("a TowerOptimizer that a function makes is made once, and trains as the optimizer itself", "[canned][E116]") {
  std::atomic<int> calls = 0;
  const auto make = [&]() -> Optimizer { return ++calls, GradientDescent({.learning_rate = 0.1}); };
  const CannedOptimizer optimizers[] = {GradientDescent({.learning_rate = 0.1}), TowerOptimizer(make), make,
                                        [&make]() -> Optimizer { return TowerOptimizer(make); }};
  std::vector<at::Tensor> kernels;
  for (const CannedOptimizer& optimizer : optimizers) {
    calls = 0;
    DNNClassifierOptions options = options_for_blobs();
    options.optimizer = optimizer;
    const TemporaryDirectory directory;
    DNNClassifier classifier(options, {.model_dir = directory.path()}, three_towers());
    CHECK(calls == 0);
    classifier.train(batches(9), {.steps = 3});
    CHECK(calls == (kernels.empty() ? 0 : 1));
    kernels.push_back(classifier.get_variable_value("dnn/logits/kernel"));
    CHECK(at::equal(kernels.back(), kernels.front()));
  }
}

TEST_CASE("an export of a DNNClassifier over towers has the signatures of its head", "[canned][E78]") {
  const TemporaryDirectory directory;
  DNNClassifier classifier(options_for_blobs(), {.model_dir = directory.path()}, three_towers());
  classifier.train(batches(10), {.steps = 2});
  const ExportResult result = classifier.export_saved_model(directory.file("exports"), receiver());
  CHECK(std::filesystem::exists(result.path + "/torchscript/model.pt"));
  CHECK(result.warnings.empty());
}

TEST_CASE("an export of a DNNClassifier with batch normalization gives its predictions", "[canned][E78][E88]") {
  DNNClassifierOptions options = options_for_blobs();
  options.batch_norm = true;
  options.weight_column = "";
  for (const ModelFnTransform& transform : {ModelFnTransform(), three_towers()}) {
    const TemporaryDirectory directory;
    DNNClassifier classifier(options, {.model_dir = directory.path()}, transform);
    classifier.train(batches(10), {.steps = 5});
    const ExportResult result = classifier.export_saved_model(directory.file("exports"), receiver());
    torch::jit::Module served = torch::jit::load(result.path + "/torchscript/model.pt");
    const Features features = blobs().features;
    const auto outputs = served.get_method("predict")({features["x"], features["z"]}).toTuple();
    const Predictions expected = classifier.predict({{"x", features["x"]}, {"z", features["z"]}});
    const bool found = std::any_of(outputs->elements().begin(), outputs->elements().end(), [&](const auto& output) {
      return output.toTensor().is_floating_point() && is_near(output.toTensor(), expected["logits"]);
    });
    CHECK(found);
  }
}

// tf.estimator with a raw receiver keeps "predict" alone and drops the rest with a line in the log: programs that ask
// for serving_default find nothing. Belfry keeps all signatures of the head, serving_default among them, on purpose:
// its signatures take named tensors, not serialized examples, so nothing stands against classification.
TEST_CASE("with a raw receiver every signature of a canned head is exported, serving_default too", "[canned][E70]") {
  using Signatures = std::map<std::string, std::string>;
  const auto exported = [](const DNNClassifierOptions& options, const InputFn& input) {
    const TemporaryDirectory directory;
    DNNClassifier classifier(options, {.model_dir = directory.path()});
    classifier.train(input, {.steps = 1});
    const ExportResult result = classifier.export_saved_model(directory.file("exports"), receiver());
    torch::jit::ExtraFilesMap files{{"belfry_signature.json", ""}};
    torch::jit::load(result.path + "/torchscript/model.pt", std::nullopt, files);
    const auto json = nlohmann::json::parse(files["belfry_signature.json"]);
    Signatures kinds;
    for (const auto& [name, signature] : json["signatures"].items()) kinds[name] = signature["kind"];
    return kinds;
  };
  CHECK(exported(options_for_blobs(), batches(10)) == Signatures{{"serving_default", "classification"},
                                                                 {"classification", "classification"},
                                                                 {"predict", "predict"}});
  DNNClassifierOptions binary = options_for_blobs();
  binary.n_classes = 2;
  const auto two_classes = [] {
    const Batch all = blobs();
    return Dataset::from_tensors(all.features, all.labels.tensor().remainder(2)).batch(10);
  };
  CHECK(exported(binary, two_classes) == Signatures{{"serving_default", "classification"},
                                                    {"classification", "classification"},
                                                    {"regression", "regression"},
                                                    {"predict", "predict"}});
}

TEST_CASE("a DNNClassifier learns, with dropout and batch normalization too", "[canned][E88]") {
  for (const bool batch_norm : {false, true}) {
    DNNClassifierOptions options = options_for_blobs();
    options.weight_column = "";
    options.dropout = 0.1;
    options.batch_norm = batch_norm;
    const TemporaryDirectory directory;
    DNNClassifier classifier(options, {.model_dir = directory.path()}, three_towers());
    const double before = classifier.evaluate(batches(20)).loss();
    const Batch all = blobs();
    classifier.train([&] { return Dataset::from_tensors(all.features, all.labels).repeat().batch(25); },
                     {.steps = 150});
    const EvalResult after = classifier.evaluate(batches(20));
    CHECK(after.loss() < before);
    // Without dropout in evaluation two passes agree to the bit.
    CHECK(after.loss() == classifier.evaluate(batches(20)).loss());
    CHECK(classifier.get_variable_names().size() > 10);
    if (batch_norm) {
      const at::Tensor mean = classifier.get_variable_value("dnn/hiddenlayer_1/batchnorm_1/moving_mean");
      CHECK(mean.abs().sum().item<double>() > 0);
    }
  }
}

TEST_CASE("dropout drops in training alone, and scales what stays", "[canned][E88]") {
  DNNClassifierOptions options = options_for_blobs();
  options.activation_fn = [](const at::Tensor& x) { return at::ones_like(x) + x * 0; };
  options.hidden_units = {4000};
  options.dropout = 0.25;
  options.optimizer = GradientDescent({.learning_rate = 1});
  options.weight_column = "";
  const TemporaryDirectory directory;
  DNNClassifier classifier(options, {.model_dir = directory.path()});
  const Batch all = blobs();
  const at::Tensor first = at::zeros({1}, at::kLong);
  classifier.train([&] { return Dataset::from_tensors(all.features.narrow(0, 1), first).batch(1); }, {.steps = 1});
  // The kernel of the logits moves where the layer's output was not dropped: by that output times the same number.
  const at::Tensor start = [&] {
    const TemporaryDirectory other;
    options.optimizer = GradientDescent({.learning_rate = 0});
    DNNClassifier still(options, {.model_dir = other.path()});
    still.train([&] { return Dataset::from_tensors(all.features.narrow(0, 1), first).batch(1); }, {.steps = 1});
    return still.get_variable_value("dnn/logits/kernel");
  }();
  const at::Tensor moved = (classifier.get_variable_value("dnn/logits/kernel") - start).select(1, 0);
  const double kept = moved.ne(0).to(at::kDouble).mean().item<double>();
  CHECK(kept > 0.7);
  CHECK(kept < 0.8);
}

TEST_CASE("dropout comes before batch normalization", "[canned][E88]") {
  DNNClassifierOptions options = options_for_blobs();
  options.activation_fn = [](const at::Tensor& x) { return at::ones_like(x) + x * 0; };
  options.hidden_units = {20};
  options.dropout = 0.25;
  options.batch_norm = true;
  const TemporaryDirectory directory;
  DNNClassifier classifier(options, {.model_dir = directory.path()});
  classifier.train(batches(kRows), {.steps = 1});
  // Of a column of ones dropout leaves zeros and k entries of 4/3: a mean of m = k / rows * 4/3, and a variance of
  // m (4/3 - m). Normalized first, the column would be ones for the moving averages: mean 1, variance 0.
  const auto moving = [&](const std::string& what) {
    return classifier.get_variable_value("dnn/hiddenlayer_0/batchnorm_0/moving_" + what).to(at::kDouble);
  };
  const at::Tensor mean = moving("mean") / 0.001;
  const at::Tensor variance = (moving("variance") - 0.999) / 0.001;
  const at::Tensor kept = mean * kRows * 0.75;
  CHECK(at::allclose(kept, kept.round(), /*rtol=*/0, /*atol=*/1e-3));
  CHECK(kept.ne(kept.narrow(0, 0, 1)).any().item<bool>());
  CHECK(mean.mean().item<double>() == Approx(1).margin(0.1));
  CHECK(at::allclose(variance, mean * (4.0 / 3 - mean), /*rtol=*/0, /*atol=*/1e-3));
}

TEST_CASE("initial kernels are Glorot uniform and biases zero", "[canned][E88]") {
  DNNClassifierOptions options = options_for_blobs();
  options.hidden_units = {96, 64};
  options.optimizer = GradientDescent({.learning_rate = 0});
  const TemporaryDirectory directory;
  DNNClassifier classifier(options, {.model_dir = directory.path()});
  classifier.train(batches(10), {.steps = 1});
  const at::Tensor kernel = classifier.get_variable_value("dnn/hiddenlayer_1/kernel");
  CHECK(kernel.sizes() == at::IntArrayRef({96, 64}));
  const double limit = std::sqrt(6.0 / (96 + 64));
  CHECK(kernel.abs().max().item<double>() <= limit);
  CHECK(kernel.abs().max().item<double>() > 0.99 * limit);
  CHECK(std::abs(kernel.std().item<double>() - limit / std::sqrt(3.0)) < 0.02 * limit);
  CHECK(classifier.get_variable_value("dnn/logits/bias").eq(0).all().item<bool>());
}

TEST_CASE("options of a DNNClassifier that cannot be right are named", "[canned][E88][E116]") {
  CHECK(refuses([](auto& o) { o.hidden_units = {}; }, {"hidden_units is empty"}));
  CHECK(refuses([](auto& o) { o.hidden_units = {8, 0}; }, {"hidden_units[1] is 0"}));
  CHECK(refuses([](auto& o) { o.n_classes = 1; }, {"n_classes is 1"}));
  CHECK(refuses([](auto& o) { o.feature_columns = {}; }, {"feature_columns is empty"}));
  CHECK(refuses([](auto& o) { o.feature_columns.push_back(numeric_column("x")); }, {"two columns 'x'"}));
  CHECK(refuses([](auto& o) { o.dropout = 1; }, {"dropout is 1"}));
  CHECK(refuses([](auto& o) { o.label_vocabulary = {"a", "b"}; }, {"2 names", "3 classes"}));
  CHECK(refuses([](auto& o) { o.loss_reduction = LossReduction::kNone; }, {"loss_reduction is NONE"}));
  CHECK(fails_with(ErrorKind::kInvalidArgument, {"'adam'", "Adagrad, Adam"}, [] { CannedOptimizer("adam"); }));
}

TEST_CASE("input that does not fit the columns is an error, after which training goes on", "[canned][E86][E88][E98]") {
  const TemporaryDirectory directory;
  DNNClassifier classifier(options_for_blobs(), {.model_dir = directory.path()});
  const Batch all = blobs();
  const auto train = [&](const Features& features, const Labels& labels) {
    classifier.train([&] { return Dataset::from_tensors(features, labels).batch(5); }, {.steps = 1});
  };
  Features without_z = all.features;
  without_z.erase("z");
  CHECK(fails_with(ErrorKind::kNotFound, {"'z'"}, [&] { train(without_z, all.labels); }));
  Features without_w = all.features;
  without_w.erase("w");
  CHECK(fails_with(ErrorKind::kNotFound, {"weight_column 'w'", "'x'"}, [&] { train(without_w, all.labels); }));
  Features wide = all.features;
  wide.set("x", at::zeros({kRows, 4}));
  CHECK(fails_with(ErrorKind::kInvalidArgument, {"'x'", "[5, 4]", "[3]"}, [&] { train(wide, all.labels); }));
  CHECK(fails_with(ErrorKind::kOutOfRange, {"class 3", "row 4"}, [&] {
    train(all.features, at::tensor({0, 1, 2, 0, 3}, at::kLong).repeat({kRows / 5}));
  }));
  CHECK(fails_with(ErrorKind::kInvalidArgument, {"lone tensor", "by name", "{{\"x\", tensor}}"},
                   [&] { train(all.features["x"], all.labels); }));
  CHECK(fails_with(ErrorKind::kInvalidArgument, {"no labels"}, [&] { train(all.features, {}); }));
  train(all.features, all.labels);
  CHECK(classifier.get_variable_value("global_step").item<int64_t>() == 1);
}
