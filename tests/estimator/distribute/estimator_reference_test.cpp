// Training by an Estimator under a strategy, against reference/distribute.json.
#include <ATen/ATen.h>

#include "estimator/estimator.h"
#include "estimator/losses/losses.h"
#include "estimator/metrics/auc.h"
#include "estimator/metrics/counts.h"
#include "estimator/metrics/means.h"
#include "optimizers/gradient_descent.h"
#include "tests/distribute/distribute_json.h"
#include "tests/distribute/strategies.h"
#include "tests/support/temporary_directory.h"

namespace belfry {
namespace {

using testing::Json;
using testing::tensor_of;

ModelFn model_of(const Json& file, bool sum) {
  return make_model_fn([&file, sum](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    const at::Tensor w = ctx.variable("w", [&] { return tensor_of(file.at("w0")); });
    const at::Tensor loss =
        losses::mean_squared_error(labels.tensor(), at::mv(features.tensor(), w), ctx,
                                   {.reduction = sum ? LossReduction::kSum : LossReduction::kSumOverBatchSize});
    const double rate = file.at("learning_rate");
    return EstimatorSpec::train(loss, GradientDescent({.learning_rate = rate}).minimize(loss, ctx));
  });
}

// The loss of every step.
class LossList : public SessionRunHook {
 public:
  void after_run(RunContext& context) override { losses.push_back(context.loss()); }
  std::vector<double> losses;
};

void check_case(const Json& file, const Json& reference, const std::string& strategy) {
  INFO(strategy << " " << reference.dump());
  const testing::TemporaryDirectory directory;
  Estimator estimator(model_of(file, reference.at("loss_reduction") == "sum"),
                      {.model_dir = directory.path(),
                       .train_distribute = testing::strategy_named(strategy),
                       .save_summary_steps = 0,
                       .log_step_count_steps = 0});
  const InputFn input = [&] {
    return Dataset::from_tensors(tensor_of(file.at("x")), tensor_of(file.at("y")))
        .batch(file.at("input_batch"))
        .repeat();
  };
  const auto losses = std::make_shared<LossList>();
  estimator.train(input, {.steps = file.at("steps").get<int64_t>(), .hooks = {losses}});
  testing::check_tensor(estimator.get_variable_value("w"), reference.at("result").at("w"));
  const Json& expected = reference.at("result").at("loss_summaries");
  REQUIRE(losses->losses.size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    CHECK(losses->losses[i] == Approx(expected[i][2].get<double>()).epsilon(1e-5));
  }
}

}  // namespace

TEST_CASE("an Estimator under a strategy trains as the original does", "[estimator][distribute][E121][reference]") {
  const Json file = testing::reference("distribute").at("estimator");
  for (const Json& reference : file.at("cases")) {
    const int replicas = reference.at("replicas");
    if (replicas == 1) check_case(file, reference, "one_device");
    check_case(file, reference, concat("mirrored_", replicas));
    check_case(file, reference, concat("central_", replicas));
  }
}

namespace {

// The batches of the first `steps` steps, one for each replica.
InputFn batches_of(const Json& reference, size_t steps) {
  std::vector<Batch> batches;
  for (size_t i = 0; i < steps; ++i) {
    const Json& step = reference.at("steps")[i];
    for (size_t replica = 0; replica < step.at("predictions").size(); ++replica) {
      batches.push_back({tensor_of(step.at("predictions")[replica]), tensor_of(step.at("labels")[replica])});
    }
  }
  return [batches] {
    return Dataset::from_generator(
        [batches] {
          return [batches, next = size_t{0}]() mutable -> std::optional<Batch> {
            return next == batches.size() ? std::nullopt : std::optional(batches[next++]);
          };
        },
        {.batched = true});
  };
}

EstimatorSpec measuring(const Features& features, const Labels& labels, ModeKeys, ModelContext&) {
  const at::Tensor &scores = features.tensor(), &truth = labels.tensor();
  return EstimatorSpec::eval(at::zeros({}),
                             {{"mean", metrics::mean(scores)},
                              {"binary_accuracy", metrics::binary_accuracy(truth, scores)},
                              {"auc_20_thresholds", metrics::auc(truth, scores, {.num_thresholds = 20})}});
}

}  // namespace

TEST_CASE("metrics under a strategy are pooled as the original's", "[estimator][distribute][S28][R16][reference]") {
  const Json all = testing::reference("distribute");
  for (const Json& reference : all.at("norm").at("metrics")) {
    INFO(reference.at("strategy"));
    const testing::TemporaryDirectory directory;
    Estimator estimator(measuring, {.model_dir = directory.path(),
                                    .eval_distribute = testing::strategy_named(reference.at("strategy"))});
    for (size_t steps = 1; steps <= reference.at("steps").size(); ++steps) {
      const EvalResult result = estimator.evaluate(batches_of(reference, steps));
      const Json& expected = reference.at("steps")[steps - 1];
      for (const char* name : {"mean", "binary_accuracy", "auc_20_thresholds"}) {
        INFO(name);
        CHECK(result[name] == Approx(expected.at(name).get<double>()).epsilon(1e-5));
      }
    }
  }
}

}  // namespace belfry
