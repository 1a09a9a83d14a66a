#include "estimator/estimator_spec.h"

#include "tests/testing.h"

#include "core/error.h"
#include "estimator/metrics/means.h"
#include "estimator/session_run_hook.h"
#include "tests/support/check_fails.h"

using namespace belfry;
using belfry::testing::Failure;
using belfry::testing::failure;
using Catch::Contains;

namespace {

const at::Tensor kLoss = torch::tensor(2.0F);

}  // namespace

TEST_CASE("modes have TensorFlow's names", "[estimator][E20]") {
  CHECK(std::string(to_string(ModeKeys::kTrain)) == "train");
  CHECK(std::string(to_string(ModeKeys::kEval)) == "eval");
  CHECK(std::string(to_string(ModeKeys::kPredict)) == "infer");
}

TEST_CASE("a spec for training has a loss and a train op", "[estimator][E21]") {
  CHECK(EstimatorSpec::train(kLoss, TrainOp()).mode == ModeKeys::kTrain);
  const Failure no_loss = failure([] { EstimatorSpec::train(at::Tensor(), TrainOp()); });
  CHECK(no_loss.kind == ErrorKind::kInvalidArgument);
  CHECK_THAT(no_loss.message, Contains("train") && Contains("loss is missing"));
  EstimatorSpec by_hand;
  by_hand.mode = ModeKeys::kTrain;
  by_hand.loss = kLoss;
  CHECK_THROWS_WITH(by_hand.validate(), Contains("train_op is missing"));
}

TEST_CASE("a loss is one number", "[estimator][E21]") {
  CHECK(EstimatorSpec::train(kLoss.reshape({1}), TrainOp()).loss.dim() == 0);
  CHECK_THROWS_WITH(EstimatorSpec::train(torch::ones({2}), TrainOp()), Contains("shape [2]"));
  CHECK_THROWS_WITH(EstimatorSpec::eval(torch::ones({1, 1})), Contains("shape [1, 1]"));
}

TEST_CASE("a spec for evaluation has a loss, and metrics with names of their own", "[estimator][E9][E22]") {
  const Metric metric = metrics::mean(torch::ones({2}));
  CHECK(EstimatorSpec::eval(kLoss).eval_metric_ops.empty());
  CHECK(EstimatorSpec::eval(kLoss, {{"mean", metric}}).eval_metric_ops.size() == 1);
  CHECK_THROWS_WITH(EstimatorSpec::eval(at::Tensor()), Contains("eval") && Contains("loss is missing"));
  CHECK_THROWS_WITH(EstimatorSpec::eval(kLoss, {{"loss", metric}}), Contains("'loss'"));
  CHECK_THROWS_WITH(EstimatorSpec::eval(kLoss, {{"global_step", metric}}), Contains("'global_step'"));
  CHECK_THROWS_WITH(EstimatorSpec::eval(kLoss, {{"m", metric}, {"m", metric}}), Contains("'m' comes twice"));
}

TEST_CASE("a spec for prediction has predictions", "[estimator][E23]") {
  CHECK(EstimatorSpec::predict(torch::ones({2})).predictions.tensor().size(0) == 2);
  CHECK_THROWS_WITH(EstimatorSpec::predict(Predictions()), Contains("infer") && Contains("predictions are missing"));
}

TEST_CASE("several export outputs need serving_default among them", "[estimator][E24]") {
  const at::Tensor y = torch::ones({2});
  const ExportOutput output = PredictOutput{y};
  CHECK(EstimatorSpec::predict(y, {{"a", output}}).export_outputs.size() == 1);
  CHECK(EstimatorSpec::predict(y, {{"a", output}, {kServingDefault, output}}).export_outputs.size() == 2);
  CHECK_THROWS_WITH(EstimatorSpec::predict(y, {{"a", output}, {"b", output}}), Contains("serving_default"));
}

TEST_CASE("an absent hook in a spec is an error that names its field", "[estimator][E25]") {
  const Hooks absent{nullptr};
  CHECK_THROWS_WITH(EstimatorSpec::train(kLoss, TrainOp(), {.training_hooks = absent}), Contains("training_hooks"));
  CHECK_THROWS_WITH(EstimatorSpec::train(kLoss, TrainOp(), {.training_chief_hooks = absent}),
                    Contains("training_chief_hooks"));
  CHECK_THROWS_WITH(EstimatorSpec::eval(kLoss, {}, {.evaluation_hooks = absent}), Contains("evaluation_hooks"));
  CHECK_THROWS_WITH(EstimatorSpec::predict(kLoss.reshape({1}), {}, {.prediction_hooks = absent}),
                    Contains("prediction_hooks"));
}

TEST_CASE("replace gives a checked copy with changes, of the same mode", "[estimator][E27]") {
  const EstimatorSpec spec = EstimatorSpec::train(kLoss, TrainOp());
  const EstimatorSpec changed = spec.replace([](EstimatorSpec& copy) { copy.loss = copy.loss.reshape({1}) * 2; });
  CHECK(changed.loss.item<double>() == 4);
  CHECK(changed.loss.dim() == 0);
  CHECK(spec.loss.item<double>() == 2);
  CHECK_THROWS_WITH(spec.replace([](EstimatorSpec& copy) { copy.loss = torch::ones({2}); }), Contains("shape [2]"));
  CHECK_THROWS_WITH(spec.replace([](EstimatorSpec& copy) { copy.mode = ModeKeys::kEval; }),
                    Contains("train") && Contains("eval"));
}
