#include "tests/support/test_data.h"
#include "tests/testing.h"

#include "core/error.h"
#include "linear_model.h"
#include "optimizers/adagrad.h"
#include "tests/support/check_fails.h"
#include "tests/support/temporary_directory.h"

using namespace belfry;
using namespace belfry::testing;
using Catch::Contains;

TEST_CASE("variables are read from the newest checkpoint, slots and step included", "[estimator][E14][E15]") {
  const TemporaryDirectory dir;
  const auto model = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    const at::Tensor loss = (linear_output(features, ctx) - labels.tensor()).square().mean();
    return EstimatorSpec::train(loss, Adagrad({.learning_rate = 0.1}).minimize(loss, ctx));
  };
  Estimator estimator(model, quiet(dir.path()));
  estimator.train(line(), {.steps = 2});
  CHECK(*estimator.latest_checkpoint() == dir.file("model.ckpt-2"));
  const std::vector<std::string> names = estimator.get_variable_names();
  for (const char* wanted : {"global_step", "linear/w", "linear/b", "training/Adagrad/linear/w/accumulator"}) {
    INFO(wanted);
    CHECK(std::find(names.begin(), names.end(), wanted) != names.end());
  }
  CHECK(estimator.get_variable_value("global_step").scalar_type() == torch::kLong);
  CHECK(saved(estimator, "global_step") == 2);
  CHECK(saved(estimator, "training/Adagrad/linear/b/accumulator") > 0.1);

  const Failure unknown = failure([&] { estimator.get_variable_value("linear/v"); });
  CHECK(unknown.kind == ErrorKind::kNotFound);
  CHECK_THAT(unknown.message, Contains("linear/v"));
}

TEST_CASE("without a checkpoint there are no variables to read", "[estimator][E14][E15]") {
  const TemporaryDirectory dir;
  const Estimator estimator(linear_model_fn, quiet(dir.path()));
  CHECK_FALSE(estimator.latest_checkpoint());
  for (const Failure& none :
       {failure([&] { estimator.get_variable_names(); }), failure([&] { estimator.get_variable_value("linear/w"); })}) {
    CHECK(none.kind == ErrorKind::kFailedPrecondition);
    CHECK_THAT(none.message, Contains("no checkpoint") && Contains(dir.path()));
  }
}

TEST_CASE("checkpoints that TensorFlow wrote are read by name", "[estimator][E15]") {
  const std::string folder = testing::test_data("reference/tf_checkpoints/iris_dnn_v2");
  const Estimator estimator(linear_model_fn, quiet(folder));
  const std::vector<std::string> names = estimator.get_variable_names();
  REQUIRE(std::find(names.begin(), names.end(), "dnn/hiddenlayer_0/kernel") != names.end());
  CHECK(saved(estimator, "global_step") == 50);
  const at::Tensor kernel = estimator.get_variable_value("dnn/hiddenlayer_0/kernel");
  CHECK(kernel.dim() == 2);
  CHECK(kernel.size(0) == 4);
  CHECK(kernel.isfinite().all().item<bool>());
  CHECK(kernel.abs().sum().item<double>() > 0);
}
