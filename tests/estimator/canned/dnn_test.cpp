#include "estimator/canned/dnn.h"

#include <ATen/ATen.h>

#include "core/error.h"
#include "estimator/canned/dnn_classifier.h"
#include "estimator/estimator.h"
#include "estimator/feature_column/numeric_column.h"
#include "estimator/losses/losses.h"
#include "optimizers/gradient_descent.h"
#include "tests/support/check_fails.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"

using namespace belfry;
using belfry::testing::TemporaryDirectory;

namespace {

RunConfig quiet(const TemporaryDirectory& directory) {
  return {.model_dir = directory.path(), .save_summary_steps = 0, .log_step_count_steps = 0};
}

Dataset waves() {
  const at::Tensor x = at::arange(24, at::kFloat).reshape({8, 3}).sin();
  return Dataset::from_tensors({{"x", x}}, at::arange(8, at::kLong).remainder(3)).repeat().batch(4);
}

ModelFn model_over(const DnnOptions& options) {
  return [options](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    const at::Tensor logits = dnn_logits(features["x"], 3, options, ctx);
    if (mode == ModeKeys::kPredict) return EstimatorSpec::predict({{"logits", logits}});
    const at::Tensor loss = losses::sparse_softmax_cross_entropy(labels.tensor(), logits, ctx);
    return EstimatorSpec::train(loss, GradientDescent({.learning_rate = 0.1}).minimize(loss, ctx));
  };
}

}  // namespace

TEST_CASE("a model_fn over dnn_logits has the variables and numbers of a DNNClassifier", "[canned][E88][E125]") {
  const TemporaryDirectory own_directory;
  const TemporaryDirectory canned_directory;
  const bool batch_norm = GENERATE(false, true);
  Estimator own(model_over({.hidden_units = {5, 4}, .dropout = 0.2, .batch_norm = batch_norm}), quiet(own_directory));
  DNNClassifier canned({.hidden_units = {5, 4},
                        .feature_columns = {feature_column::numeric_column("x", {.shape = {3}})},
                        .n_classes = 3,
                        .optimizer = GradientDescent({.learning_rate = 0.1}),
                        .dropout = 0.2,
                        .batch_norm = batch_norm},
                       quiet(canned_directory));
  for (Estimator* estimator : {&own, static_cast<Estimator*>(&canned)}) estimator->train(waves, {.steps = 5});
  REQUIRE(own.get_variable_names() == canned.get_variable_names());
  for (const std::string& name : own.get_variable_names()) {
    if (name.starts_with("belfry/")) continue;
    INFO(name);
    CHECK(at::allclose(own.get_variable_value(name), canned.get_variable_value(name)));
  }
}

TEST_CASE("without hidden layers the logits are linear", "[canned]") {
  const TemporaryDirectory directory;
  Estimator estimator(model_over({}), quiet(directory));
  estimator.train(waves, {.steps = 3});
  const at::Tensor x = at::eye(3);
  const at::Tensor kernel = estimator.get_variable_value("dnn/logits/kernel");
  const at::Tensor bias = estimator.get_variable_value("dnn/logits/bias");
  CHECK(at::allclose(estimator.predict({{"x", x}})["logits"], kernel + bias));
}

TEST_CASE("options and input of dnn_logits that cannot be right are named", "[canned][E88]") {
  const TemporaryDirectory directory;
  const Features features{{"x", at::ones({2, 3})}};
  const auto predict = [&](const DnnOptions& options, const Features& with) {
    Estimator(model_over(options), quiet(directory)).predict(with);
  };
  const auto kind = ErrorKind::kInvalidArgument;
  CHECK_FAILS((predict({.hidden_units = {4, -1}}, features)), kind, "dnn_logits: hidden_units[1] is -1");
  CHECK_FAILS((predict({.dropout = -0.5}, features)), kind, "dnn_logits: dropout is -0.5");
  CHECK_FAILS((predict({}, {{"x", at::ones({3})}})), kind, "x has shape [3]");
  const DnnOptions narrowing{.hidden_units = {4}, .activation_fn = [](const at::Tensor& x) { return x.sum(); }};
  CHECK_FAILS((predict(narrowing, features)), kind, "activation_fn made []");
}
