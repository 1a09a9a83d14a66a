#include "tests/testing.h"
// testing.h has to come first

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "estimator/estimator.h"
#include "optimizers/adagrad.h"
#include "optimizers/adam.h"
#include "optimizers/gradient_descent.h"
#include "optimizers/momentum.h"
#include "tests/support/temporary_directory.h"
#include "tests/towers/tower_runner.h"
#include "towers_reference_case.h"

namespace belfry::testing {
namespace {

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
    check_close(actual[name], value, kVariableRelative, kVariableAbsolute);
  }
}

void check_slots(const Json& expected, const Estimator& estimator, const ReferenceModel& model, const Json& options) {
  for (const auto& [name, value] : expected.items()) {
    INFO("slot " << name);
    if (name.ends_with("beta1_power") || name.ends_with("beta2_power")) {
      const double beta = options.at(name.ends_with("beta1_power") ? "beta1" : "beta2");
      const auto count = estimator.get_variable_value(model.optimizer.iterations_name()).item<double>();
      CHECK(is_close(std::pow(beta, count + 1), value.get<double>(), kVariableRelative, kVariableAbsolute));
      continue;
    }
    const at::Tensor slot = estimator.get_variable_value(slot_of(name, model.initial, model.optimizer));
    // Gradients that nearly cancel are known to no better than a part of the largest of their array. (The original
    // keeps Adam's beta powers as float32 products, which moves such entries of m by some 1e-4.)
    const double largest = to_tensor(value).abs().max().item<double>();
    check_close(slot, value, kVariableRelative, kVariableAbsolute + kVariableRelative * largest);
  }
}

at::Tensor to_input(const Json& json) {
  const Json* first = &json;
  while (first->is_array()) first = &first->front();
  return to_tensor(json, first->is_number_integer() ? at::kLong : at::kFloat);
}

}  // namespace

void check_case(const Json& file, const Json& run, const Json& reference, TowerWeighting weighting,
                ReferenceForward forward) {
  const Json& parts = file.at("models").at(run.at("model").get<std::string>());
  const Json& options = file.at("optimizers").at(run.at("optimizer").get<std::string>());
  ReferenceModel model{.initial = {},
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

  const TemporaryDirectory directory;
  Estimator estimator(
      replicate_model_fn(model_fn_of(forward, model), {.loss_reduction = reduction_named(run.at("loss_reduction")),
                                                       .devices = cpus(run.at("towers")),
                                                       .weighting = weighting}),
      {.model_dir = directory.path(), .save_summary_steps = 0, .log_step_count_steps = 0});
  const auto training = std::make_shared<Watch>();
  const TrainResult trained = estimator.train([&] { return input().repeat(); },
                                              {.steps = file.at("steps").get<int64_t>(), .hooks = {training}});
  CHECK(trained.global_step == file.at("steps").get<int64_t>());
  check_close(at::tensor(training->losses, at::kDouble), reference.at("step_losses"), kRelative, kAbsolute);
  if (reference.contains("after_step_1")) check_variables(reference.at("after_step_1"), training->first);
  TensorDict final;
  for (const auto& [name, value] : model.initial) final.set(name, estimator.get_variable_value(name));
  check_variables(reference.at("final"), final);
  if (reference.contains("slots")) check_slots(reference.at("slots"), estimator, model, options);

  const auto evaluation = std::make_shared<Watch>();
  const EvalResult evaluated = estimator.evaluate(input, {.hooks = {evaluation}});
  check_close(at::tensor(evaluation->losses, at::kDouble), reference.at("eval_batch_losses"), kRelative, kAbsolute);
  for (const auto& [name, value] : reference.at("eval").items()) {
    INFO("metric " << name << " is " << evaluated[name] << ", expected " << value);
    CHECK(is_close(evaluated[name], to_number(value), kRelative, kAbsolute));
  }
  const Predictions predicted = estimator.predict(features.narrow(0, std::min(batch_size, features.rows())));
  for (const auto& [name, value] : reference.at("predictions").items()) {
    INFO("prediction " << name);
    check_close(predicted[name], value, kRelative, kAbsolute);
  }
}

}  // namespace belfry::testing
