#include "estimator/model_fn.h"

#include <torch/nn/module.h>

#include "tests/testing.h"

#include <optional>

#include "core/error.h"
#include "estimator/losses/losses.h"
#include "linear_model.h"
#include "tests/support/check_fails.h"
#include "tests/support/temporary_directory.h"

using namespace belfry;
using namespace belfry::testing;
using Catch::Contains;

namespace {

// That training with `bad` fails after so many good steps, which are saved, and that the same Estimator trains when the
// model_fn behaves again.
Failure fails_and_recovers(const ModelFn& bad, int64_t good_steps = 0) {
  const TemporaryDirectory dir;
  bool misbehave = true;
  Estimator estimator(
      [&](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
        return misbehave ? bad(features, labels, mode, ctx) : linear_model_fn(features, labels, mode, ctx);
      },
      quiet(dir.path()));
  Failure found = failure([&] { estimator.train(line(), {.steps = 3}); });
  CHECK(posix_file_system().list(dir.path()).empty() == (good_steps == 0));
  misbehave = false;
  CHECK(estimator.train(line(), {.steps = 3}).global_step == good_steps + 3);
  return found;
}

}  // namespace

TEST_CASE("a spec of another mode than was asked for is an error that names both", "[estimator][E2]") {
  const Failure found = fails_and_recovers([](const Features& features, const Labels&, ModeKeys, ModelContext& ctx) {
    return EstimatorSpec::predict(linear_output(features, ctx));
  });
  CHECK(found.kind == ErrorKind::kInvalidArgument);
  CHECK_THAT(found.message, Contains("mode train") && Contains("mode infer"));
}

TEST_CASE("a spec that was made by hand is checked", "[estimator][E21]") {
  const Failure found = fails_and_recovers([](const Features& features, const Labels&, ModeKeys, ModelContext& ctx) {
    EstimatorSpec spec;
    spec.mode = ModeKeys::kTrain;
    spec.loss = linear_output(features, ctx).mean();
    return spec;
  });
  CHECK_THAT(found.message, Contains("train_op is missing"));
}

TEST_CASE("writing into a feature or a label is an error that names it", "[estimator][E2]") {
  const Failure feature = fails_and_recovers([](const Features& f, const Labels& l, ModeKeys m, ModelContext& ctx) {
    f["x"].mul_(2);
    return linear_model_fn(f, l, m, ctx);
  });
  CHECK(feature.kind == ErrorKind::kInvalidArgument);
  CHECK_THAT(feature.message, Contains("feature 'x'") && Contains("clone()"));
  const Failure label = fails_and_recovers([](const Features& f, const Labels& l, ModeKeys m, ModelContext& ctx) {
    l.tensor().narrow(0, 0, 1).zero_();
    return linear_model_fn(f, l, m, ctx);
  });
  CHECK_THAT(label.message, Contains("label"));
}

TEST_CASE("a minimize that the train op leaves out is an error that names the call", "[estimator][E21]") {
  const Failure found = fails_and_recovers([](const Features& f, const Labels& l, ModeKeys, ModelContext& ctx) {
    const at::Tensor loss = (linear_output(f, ctx) - l.tensor()).square().mean();
    descend(loss, ctx);
    return EstimatorSpec::train(loss, TrainOp());
  });
  CHECK(found.kind == ErrorKind::kInvalidArgument);
  CHECK_THAT(found.message, Contains("minimize of SGD") && Contains("linear_model.cpp") && Contains("group"));
}

TEST_CASE("a train op of an earlier step is an error, and so is one that comes twice", "[estimator][E21]") {
  std::optional<TrainOp> kept;
  const Failure old = fails_and_recovers(
      [&](const Features& f, const Labels& l, ModeKeys, ModelContext& ctx) {
        const at::Tensor loss = (linear_output(f, ctx) - l.tensor()).square().mean();
        if (!kept) kept = descend(loss, ctx);
        return EstimatorSpec::train(loss, *kept);
      },
      /*good_steps=*/1);
  CHECK_THAT(old.message, Contains("minimize of SGD") && Contains("another step"));
  const Failure twice = fails_and_recovers([](const Features& f, const Labels& l, ModeKeys, ModelContext& ctx) {
    const at::Tensor loss = (linear_output(f, ctx) - l.tensor()).square().mean();
    const TrainOp once = descend(loss, ctx);
    return EstimatorSpec::train(loss, group({once, once}));
  });
  CHECK_THAT(twice.message, Contains("minimize of SGD") && Contains("more than once"));
}

TEST_CASE("a module whose arguments change from step to step is an error that names it", "[estimator][E2]") {
  struct Wide : torch::nn::Module {
    explicit Wide(int64_t width) : w(register_parameter("w", at::zeros({width}))) {}
    at::Tensor w;
  };
  int64_t width = 3;
  const Failure found = fails_and_recovers(
      [&](const Features& f, const Labels& l, ModeKeys, ModelContext& ctx) {
        const auto wide = ctx.module<Wide>("wide", width++);
        const at::Tensor loss = (linear_output(f, ctx) - l.tensor()).square().mean() + wide->w.sum();
        return EstimatorSpec::train(loss, descend(loss, ctx));
      },
      /*good_steps=*/1);
  CHECK(found.kind == ErrorKind::kInvalidArgument);
  CHECK_THAT(found.message, Contains("module 'wide'") && Contains("other arguments"));
}

TEST_CASE("a loss that reaches no variable is an error", "[estimator][E21]") {
  const Failure found = fails_and_recovers([](const Features& f, const Labels&, ModeKeys, ModelContext& ctx) {
    const at::Tensor loss = linear_output(f, ctx).detach().mean();
    return EstimatorSpec::train(loss, descend(loss, ctx));
  });
  CHECK(found.kind == ErrorKind::kInvalidArgument);
  CHECK_THAT(found.message, Contains("minimize of SGD") && Contains("reaches no"));
}

TEST_CASE("what the model_fn throws comes out as it is", "[estimator][E2]") {
  struct Own : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  const TemporaryDirectory dir;
  const auto throwing = [](const Features&, ModeKeys, ModelContext&) -> EstimatorSpec { throw Own("mine"); };
  Estimator estimator(throwing, quiet(dir.path()));
  CHECK_THROWS_AS(estimator.train(line_without_labels()), Own);
  CHECK_THROWS_AS(estimator.evaluate(line_without_labels()), Own);
  CHECK_THROWS_AS(estimator.predict(line_features(2)), Own);
  CHECK_FALSE(posix_file_system().exists(estimator.eval_dir()));
}

TEST_CASE("a model_fn without labels refuses input with labels, but not in predict", "[estimator][E2]") {
  const TemporaryDirectory dir;
  const auto doubling = [](const Features& features, ModeKeys, ModelContext&) {
    return EstimatorSpec::predict(2 * features["x"]);
  };
  Estimator estimator(doubling, quiet(dir.path()));
  CHECK_THROWS_WITH(estimator.evaluate(line(4, 4, 1)), Contains("takes no labels, but the input has some"));
  PredictRange range = estimator.predict(line(4, 4, 1));
  CHECK(range.begin()->tensor().item<double>() == 0);
}
