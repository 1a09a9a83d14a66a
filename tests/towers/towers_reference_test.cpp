// Every case of reference/towers.json: over TowerWeighting::kTensorFlow it is what tf.contrib's replicate_model_fn did;
// over kExact, the default, its towers are the file's case of one device.
#include "tests/testing.h"
// testing.h has to come first

#include <ATen/ATen.h>

#include <algorithm>
#include <map>

#include "estimator/estimator.h"
#include "estimator/losses/losses.h"
#include "estimator/metrics/auc.h"
#include "estimator/metrics/counts.h"
#include "estimator/metrics/means.h"
#include "optimizers/adagrad.h"
#include "optimizers/adam.h"
#include "optimizers/gradient_descent.h"
#include "optimizers/momentum.h"
#include "tests/support/reference.h"
#include "tests/support/temporary_directory.h"
#include "tests/towers/tower_runner.h"

namespace belfry {
namespace {

using testing::Json;
using testing::to_tensor;

// What about.tolerance of the file says.
constexpr double kRelative = 1e-5;
constexpr double kAbsolute = 1e-6;
constexpr double kVariableRelative = 2e-5;
constexpr double kVariableAbsolute = 2e-6;

LossReduction reduction_named(const std::string& name) {
  const std::map<std::string, LossReduction> known{
      {"SUM", LossReduction::kSum},
      {"MEAN", LossReduction::kMean},
      {"SUM_OVER_BATCH_SIZE", LossReduction::kSumOverBatchSize},
      {"SUM_BY_NONZERO_WEIGHTS", LossReduction::kSumByNonzeroWeights},
      {"SUM_OVER_NONZERO_WEIGHTS", LossReduction::kSumOverNonzeroWeights},
  };
  return known.at(name);
}

Optimizer optimizer_of(const Json& options) {
  const std::string kind = options.at("kind");
  const double rate = options.at("learning_rate");
  if (kind == "sgd") return GradientDescent({.learning_rate = rate});
  if (kind == "momentum") return Momentum({.learning_rate = rate, .momentum = options.at("momentum")});
  if (kind == "adagrad") {
    return Adagrad(
        {.learning_rate = rate, .initial_accumulator_value = options.at("initial_accumulator_value").get<double>()});
  }
  if (kind != "adam") FAIL("unknown optimizer " << kind);
  return Adam({.learning_rate = rate,
               .beta1 = options.at("beta1"),
               .beta2 = options.at("beta2"),
               .epsilon = options.at("epsilon")});
}

// The variables' initial values and what else the model_fns take from the file.
struct Model {
  std::map<std::string, at::Tensor> initial;
  LossReduction reduction;
  std::vector<int64_t> vocabulary;
  size_t hidden_layers;
  Optimizer optimizer;

  at::Tensor variable(ModelContext& ctx, const std::string& name) const {
    return ctx.variable(name, [&] { return initial.at(name).clone(); });
  }
};

// What the forward pass gives, and what is made of it in each mode.
struct Outputs {
  Predictions predictions;
  at::Tensor loss = {};
  EvalMetricOps metrics = {};
};

using Forward = Outputs (*)(const Model&, const Features&, const Labels&, ModeKeys, ModelContext&);

ModelFn model_fn_of(Forward forward, Model model) {
  return [forward, model](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    Outputs outputs = forward(model, features, labels, mode, ctx);
    if (mode == ModeKeys::kPredict) return EstimatorSpec::predict(outputs.predictions);
    if (mode == ModeKeys::kEval) return EstimatorSpec::eval(outputs.loss, outputs.metrics);
    TowerOptimizer optimizer(model.optimizer);
    return EstimatorSpec::train(outputs.loss, optimizer.minimize(outputs.loss, ctx));
  };
}

at::Tensor cross_entropies(const at::Tensor& logits, const at::Tensor& labels) {
  return -logits.detach().log_softmax(1).gather(1, labels.reshape({-1, 1})).squeeze(1);
}

Outputs softmax(const Model& model, const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  const at::Tensor logits = features["x"].matmul(model.variable(ctx, "W")) + model.variable(ctx, "b");
  const at::Tensor probabilities = logits.softmax(1);
  const at::Tensor class_ids = logits.argmax(1);
  Outputs outputs{.predictions = {{"probabilities", probabilities}, {"class_ids", class_ids}}};
  if (mode == ModeKeys::kPredict) return outputs;
  const at::Tensor& weight = features["weight"];
  outputs.loss = losses::sparse_softmax_cross_entropy(labels.tensor(), logits, ctx,
                                                      {.weights = weight, .reduction = model.reduction});
  if (mode != ModeKeys::kEval) return outputs;
  const at::Tensor is_class0 = labels.tensor().eq(0);
  outputs.metrics = {
      {"accuracy", metrics::accuracy(labels.tensor(), class_ids)},
      {"accuracy_weighted", metrics::accuracy(labels.tensor(), class_ids, weight)},
      {"average_loss", metrics::mean(cross_entropies(logits, labels.tensor()), weight)},
      {"auc_class0", metrics::auc(is_class0, probabilities.select(1, 0),
                                  {.summation = metrics::AucSummation::kTrapezoidal, .weights = weight})},
  };
  return outputs;
}

Outputs linear(const Model& model, const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  const at::Tensor prediction = features["x"].matmul(model.variable(ctx, "W")) + model.variable(ctx, "b");
  Outputs outputs{.predictions = {{"predictions", prediction}}};
  if (mode == ModeKeys::kPredict) return outputs;
  const at::Tensor& weight = features["weight"];
  const at::Tensor& target = labels.tensor();
  outputs.loss = losses::mean_squared_error(target, prediction, ctx, {.weights = weight, .reduction = model.reduction});
  outputs.metrics = {
      {"average_loss", metrics::mean_squared_error(target, prediction, weight)},
      {"rmse", metrics::root_mean_squared_error(target, prediction, weight)},
      {"mae", metrics::mean_absolute_error(target, prediction, weight)},
      {"prediction/mean", metrics::mean(prediction, weight)},
      {"label/mean", metrics::mean(target, weight)},
  };
  return outputs;
}

at::Tensor sparse_lookup(const at::Tensor& table, const at::Tensor& ids) {
  return at::embedding(table, ids, /*padding_idx=*/-1, /*scale_grad_by_freq=*/false, /*sparse=*/true);
}

Outputs embedding(const Model& model, const Features& features, const Labels& labels, ModeKeys mode,
                  ModelContext& ctx) {
  const at::Tensor rows = sparse_lookup(model.variable(ctx, "table"), features["ids"]);
  const at::Tensor prediction = rows.matmul(model.variable(ctx, "V"));
  Outputs outputs{.predictions = {{"predictions", prediction}}};
  if (mode == ModeKeys::kPredict) return outputs;
  outputs.loss = losses::mean_squared_error(labels.tensor(), prediction, ctx, {.reduction = model.reduction});
  outputs.metrics = {{"average_loss", metrics::mean_squared_error(labels.tensor(), prediction)}};
  return outputs;
}

at::Tensor dense(const Model& model, ModelContext& ctx, const std::string& layer, const at::Tensor& input) {
  return input.matmul(model.variable(ctx, layer + "/kernel")) + model.variable(ctx, layer + "/bias");
}

at::Tensor network(const Model& model, ModelContext& ctx, at::Tensor x) {
  for (size_t i = 0; i < model.hidden_layers; ++i) {
    x = dense(model, ctx, "dnn/hiddenlayer_" + std::to_string(i), x).relu();
  }
  return dense(model, ctx, "dnn/logits", x);
}

at::Tensor weight_of(const Features& features) {
  return features.contains("weight") ? features["weight"] : at::Tensor();
}

// The head over several classes.
Outputs classify(const Model& model, const at::Tensor& logits, const Features& features, const Labels& labels,
                 ModeKeys mode, ModelContext& ctx) {
  const at::Tensor class_ids = logits.argmax(1, /*keepdim=*/true);
  Outputs outputs{.predictions = {{"logits", logits}, {"probabilities", logits.softmax(1)}, {"class_ids", class_ids}}};
  if (mode == ModeKeys::kPredict) return outputs;
  const at::Tensor weight = weight_of(features);
  const at::Tensor row_weight = weight.defined() ? weight.squeeze(1) : weight;
  outputs.loss = losses::sparse_softmax_cross_entropy(labels.tensor(), logits, ctx,
                                                      {.weights = weight, .reduction = model.reduction});
  outputs.metrics = {
      {"average_loss", metrics::mean(cross_entropies(logits, labels.tensor()), row_weight)},
      {"accuracy", metrics::accuracy(labels.tensor(), class_ids, weight)},
  };
  return outputs;
}

Outputs dnn(const Model& model, const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  return classify(model, network(model, ctx, features["x"]), features, labels, mode, ctx);
}

Outputs dnn_binary(const Model& model, const Features& features, const Labels& labels, ModeKeys mode,
                   ModelContext& ctx) {
  const at::Tensor logits = network(model, ctx, features["x"]);
  const at::Tensor logistic = logits.sigmoid();
  const at::Tensor class_ids = logits.gt(0).to(at::kLong);
  Outputs outputs{.predictions = {{"logistic", logistic},
                                  {"probabilities", at::cat({1 - logistic, logistic}, 1)},
                                  {"class_ids", class_ids}}};
  if (mode == ModeKeys::kPredict) return outputs;
  const at::Tensor weight = weight_of(features);
  const at::Tensor target = labels.tensor().to(at::kFloat);
  outputs.loss =
      losses::sigmoid_cross_entropy(target, logits, ctx, {{.weights = weight, .reduction = model.reduction}});
  const at::Tensor row_losses =
      at::binary_cross_entropy_with_logits(logits.detach(), target, {}, {}, at::Reduction::None);
  const auto area = [&](metrics::AucCurve curve) {
    return metrics::auc(target, logistic,
                        {.curve = curve, .summation = metrics::AucSummation::kTrapezoidal, .weights = weight});
  };
  outputs.metrics = {
      {"average_loss", metrics::mean(row_losses, weight)},
      {"accuracy", metrics::accuracy(labels.tensor(), class_ids, weight)},
      {"precision", metrics::precision(labels.tensor(), class_ids, weight)},
      {"recall", metrics::recall(labels.tensor(), class_ids, weight)},
      {"prediction/mean", metrics::mean(logistic, weight)},
      {"label/mean", metrics::mean(target, weight)},
      {"accuracy_baseline", metrics::accuracy_baseline(target, weight)},
      {"auc", area(metrics::AucCurve::kRoc)},
      {"auc_precision_recall", area(metrics::AucCurve::kPr)},
  };
  return outputs;
}

// Rows of the table for categories in the vocabulary, zeros for others.
at::Tensor embedded(const at::Tensor& table, const at::Tensor& categories, const std::vector<int64_t>& vocabulary) {
  std::vector<int64_t> known;
  std::vector<int64_t> ids;
  for (int64_t row = 0; row < categories.size(0); ++row) {
    const auto found = std::find(vocabulary.begin(), vocabulary.end(), categories[row].item<int64_t>());
    if (found == vocabulary.end()) continue;
    known.push_back(row);
    ids.push_back(found - vocabulary.begin());
  }
  const at::Tensor zeros = at::zeros({categories.size(0), table.size(1)}, table.options());
  return zeros.index_copy(0, at::tensor(known, at::kLong), sparse_lookup(table, at::tensor(ids, at::kLong)));
}

Outputs integration(const Model& model, const Features& features, const Labels& labels, ModeKeys mode,
                    ModelContext& ctx) {
  const at::Tensor table =
      model.variable(ctx, "dnn/input_from_feature_columns/input_layer/categories_embedding/embedding_weights");
  const at::Tensor columns = embedded(table, features["categories"].reshape({-1}), model.vocabulary);
  const at::Tensor logits = network(model, ctx, at::cat({columns, features["x"]}, 1));
  return classify(model, logits, features, labels, mode, ctx);
}

// Losses of steps and of evaluation batches, and the variables after the first step.
class Watch : public SessionRunHook {
 public:
  void begin(HookSession& session) override { store_ = &session.store; }
  void after_run(RunContext& context) override {
    losses.push_back(context.loss());
    if (losses.size() == 1) first = store_->snapshot();
  }

  std::vector<double> losses;
  TensorDict first;

 private:
  VariableStore* store_ = nullptr;
};

// Names of slots in TensorFlow's older checkpoints are VARIABLE/Adam and so on, below the network's scope.
std::string slot_of(const std::string& name, const std::map<std::string, at::Tensor>& variables,
                    const Optimizer& ours) {
  const std::map<std::string, std::string> slots{
      {"Momentum", "momentum"}, {"Adagrad", "accumulator"}, {"Adam", "m"}, {"Adam_1", "v"}};
  const size_t slash = name.rfind('/');
  const std::string before = "/" + name.substr(0, slash);
  std::string variable;
  for (const auto& [known, value] : variables) {
    if (before.ends_with("/" + known) && known.size() > variable.size()) variable = known;
  }
  INFO("slot " << name);
  REQUIRE_FALSE(variable.empty());
  return ours.slot_name(variable, slots.at(name.substr(slash + 1)));
}

void check_variables(const Json& expected, const TensorDict& actual) {
  for (const auto& [name, value] : expected.items()) {
    INFO("variable " << name);
    testing::check_close(actual[name], value, kVariableRelative, kVariableAbsolute);
  }
}

void check_slots(const Json& expected, const Estimator& estimator, const Model& model, const Json& options) {
  for (const auto& [name, value] : expected.items()) {
    INFO("slot " << name);
    if (name.ends_with("beta1_power") || name.ends_with("beta2_power")) {
      const double beta = options.at(name.ends_with("beta1_power") ? "beta1" : "beta2");
      const auto count = estimator.get_variable_value(model.optimizer.iterations_name()).item<double>();
      CHECK(testing::is_close(std::pow(beta, count + 1), value.get<double>(), kVariableRelative, kVariableAbsolute));
      continue;
    }
    const at::Tensor slot = estimator.get_variable_value(slot_of(name, model.initial, model.optimizer));
    // Gradients that nearly cancel are known to no better than a part of the largest of their array. (The original
    // keeps Adam's beta powers as float32 products, which moves such entries of m by some 1e-4.)
    const double largest = to_tensor(value).abs().max().item<double>();
    testing::check_close(slot, value, kVariableRelative, kVariableAbsolute + kVariableRelative * largest);
  }
}

at::Tensor to_input(const Json& json) {
  const Json* first = &json;
  while (first->is_array()) first = &first->front();
  return to_tensor(json, first->is_number_integer() ? at::kLong : at::kFloat);
}

// `run` says what is run, `reference`, a case of the same inputs, what has to come out.
void check_case(const Json& file, const Json& run, const Json& reference, TowerWeighting weighting, Forward forward) {
  const Json& parts = file.at("models").at(run.at("model").get<std::string>());
  const Json& options = file.at("optimizers").at(run.at("optimizer").get<std::string>());
  Model model{.initial = {},
              .reduction = reduction_named(run.at("model_loss_reduction")),
              .vocabulary = parts.value("vocabulary", std::vector<int64_t>()),
              .hidden_layers = parts.contains("hidden") ? parts.at("hidden").size() : 0,
              .optimizer = optimizer_of(options)};
  for (const auto& [name, value] : parts.at("initial").items()) model.initial[name] = to_tensor(value);
  Features features;
  for (const auto& [name, value] : parts.at("inputs").items()) features.set(name, to_input(value));
  const Labels labels = to_input(parts.at("labels"));
  const int64_t batch_size = parts.at("batch_size");
  const auto input = [&] { return Dataset::from_tensors(features, labels).batch(batch_size); };

  const testing::TemporaryDirectory directory;
  Estimator estimator(
      replicate_model_fn(model_fn_of(forward, model), {.loss_reduction = reduction_named(run.at("loss_reduction")),
                                                       .devices = testing::cpus(run.at("towers")),
                                                       .weighting = weighting}),
      {.model_dir = directory.path(), .save_summary_steps = 0, .log_step_count_steps = 0});
  const auto training = std::make_shared<Watch>();
  const TrainResult trained = estimator.train([&] { return input().repeat(); },
                                              {.steps = file.at("steps").get<int64_t>(), .hooks = {training}});
  CHECK(trained.global_step == file.at("steps").get<int64_t>());
  testing::check_close(at::tensor(training->losses, at::kDouble), reference.at("step_losses"), kRelative, kAbsolute);
  if (reference.contains("after_step_1")) check_variables(reference.at("after_step_1"), training->first);
  TensorDict final;
  for (const auto& [name, value] : model.initial) final.set(name, estimator.get_variable_value(name));
  check_variables(reference.at("final"), final);
  if (reference.contains("slots")) check_slots(reference.at("slots"), estimator, model, options);

  const auto evaluation = std::make_shared<Watch>();
  const EvalResult evaluated = estimator.evaluate(input, {.hooks = {evaluation}});
  testing::check_close(at::tensor(evaluation->losses, at::kDouble), reference.at("eval_batch_losses"), kRelative,
                       kAbsolute);
  for (const auto& [name, value] : reference.at("eval").items()) {
    INFO("metric " << name << " is " << evaluated[name] << ", expected " << value);
    CHECK(testing::is_close(evaluated[name], testing::to_number(value), kRelative, kAbsolute));
  }
  const Predictions predicted = estimator.predict(features.narrow(0, std::min(batch_size, features.rows())));
  for (const auto& [name, value] : reference.at("predictions").items()) {
    INFO("prediction " << name);
    testing::check_close(predicted[name], value, kRelative, kAbsolute);
  }
}

// The same model trained in the same way on one device.
const Json& one_device(const Json& file, const Json& reference) {
  for (const Json& other : file.at("cases")) {
    const auto same = [&](const char* key) { return other.at(key) == reference.at(key); };
    if (other.at("towers") == 1 && same("model") && same("optimizer") && same("model_loss_reduction")) return other;
  }
  FAIL("no case of one device for " << reference.at("id"));
  return reference;
}

void check_model(const std::string& model, Forward forward) {
  const Json file = testing::reference("towers");
  int cases = 0;
  for (const Json& reference : file.at("cases")) {
    if (reference.at("model") != model) continue;
    ++cases;
    const std::string id = reference.at("id");
    DYNAMIC_SECTION(id) { check_case(file, reference, reference, TowerWeighting::kTensorFlow, forward); }
    if (reference.at("towers") == 1) continue;
    DYNAMIC_SECTION(id << ", weighted exactly, is one device") {
      check_case(file, reference, one_device(file, reference), TowerWeighting::kExact, forward);
    }
  }
  CHECK(cases > 0);
}

TEST_CASE("towers of the softmax model are those of tf.contrib", "[towers][reference][R3][R10][R11][R16][R17][R21]") {
  check_model("softmax", softmax);
}

TEST_CASE("towers of the linear model are those of tf.contrib", "[towers][reference][R3][R10][R11][R16][R17][R21]") {
  check_model("linear", linear);
}

TEST_CASE("towers with row-sparse gradients are those of tf.contrib", "[towers][reference][R3][R10][R11][R21]") {
  check_model("embedding", embedding);
}

TEST_CASE("towers of a DNN are those of tf.contrib", "[towers][reference][R3][R10][R11][R16][R17][R21][R22]") {
  check_model("dnn", dnn);
}

TEST_CASE("towers of a binary DNN are those of tf.contrib", "[towers][reference][R3][R10][R11][R16][R17][R21]") {
  check_model("dnn_binary", dnn_binary);
}

TEST_CASE("towers of the DNN with an embedded category are those of tf.contrib",
          "[towers][reference][R3][R10][R11][R16][R22]") {
  check_model("integration", integration);
}

TEST_CASE("towers: every model of the reference has a test", "[towers][reference]") {
  const std::vector<std::string> tested{"softmax", "linear", "embedding", "dnn", "dnn_binary", "integration"};
  const Json all = testing::reference("towers");
  for (const Json& reference : all.at("cases")) {
    CHECK_THAT(tested, Catch::VectorContains(reference.at("model").get<std::string>()));
  }
}

}  // namespace
}  // namespace belfry
