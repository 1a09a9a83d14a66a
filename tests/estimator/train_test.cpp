#include "tests/testing.h"

#include "checkpoint/checkpoint_manager.h"
#include "checkpoint/checkpoint_reader.h"
#include "core/error.h"
#include "data/tensor_input_fn.h"
#include "estimator/hooks/checkpoint_saver_hook.h"
#include "estimator/losses/losses.h"
#include "linear_model.h"
#include "tests/support/check_fails.h"
#include "tests/support/temporary_directory.h"

using namespace belfry;
using namespace belfry::testing;
using Catch::Contains;

namespace {

std::vector<int64_t> kept_steps(const std::string& directory) {
  std::vector<int64_t> steps;
  for (const std::string& prefix : CheckpointManager(directory).all()) steps.push_back(*checkpoint_step(prefix));
  return steps;
}

}  // namespace

TEST_CASE("train makes the steps that are asked for, from where the last call ended", "[estimator][E3]") {
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  TrainResult result = estimator.train(line(), {.steps = 5});
  CHECK(result.reason == StopReason::kSteps);
  CHECK(result.global_step == 5);
  CHECK(result.steps == 5);
  CHECK(result.examples_seen == 20);
  CHECK(estimator.train(line(), {.steps = 5}).global_step == 10);

  result = estimator.train(line(), {.max_steps = 12});
  CHECK(result.reason == StopReason::kMaxSteps);
  CHECK(result.steps == 2);

  Estimator another(linear_model_fn, quiet(dir.path()));
  CHECK(another.train(line(), {.steps = 1}).global_step == 13);
  CHECK(estimator.train(line(), {.steps = 1}).global_step == 14);  // sees what the other one did
  CHECK(saved(estimator, "global_step") == 14);
}

TEST_CASE("training learns the line", "[estimator][E3]") {
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  const TrainResult trained = estimator.train(line(), {.steps = 2000});
  CHECK(saved(estimator, "linear/w") == Approx(2).epsilon(1e-3));
  CHECK(saved(estimator, "linear/b") == Approx(1).epsilon(1e-3));
  CHECK(trained.loss < 1e-5);
}

TEST_CASE("the loss of a result is that of the last step before its update", "[estimator][E3][E7]") {
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  const Labels labels = line_labels(4);
  CHECK(estimator.train(line(4, 4), {.steps = 1}).loss == Approx(labels.tensor().square().mean().item<double>()));
  const at::Tensor y = line_features(4)["x"] * saved(estimator, "linear/w") + saved(estimator, "linear/b");
  const double second = (labels.tensor() - y).square().mean().item<double>();
  CHECK(estimator.train(line(4, 4), {.steps = 1}).loss == Approx(second));
}

TEST_CASE("the loss of the final step is logged at the end of training, and only there", "[estimator][E7]") {
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  const CapturedLog log;
  const double loss = estimator.train(line(4, 4), {.steps = 3}).loss;
  CHECK(log.count(LogLevel::kInfo, "Loss for final step: ") == 1);
  CHECK(log.count(LogLevel::kInfo, concat("Loss for final step: ", loss)) == 1);
  estimator.train(no_input());
  CHECK_THROWS(estimator.train(line_without_labels(), {.steps = 3}));
  CHECK(log.count(LogLevel::kInfo, "Loss for final step: ") == 1);
}

TEST_CASE("without a number of steps training ends with its input", "[estimator][E3][E38]") {
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  const TrainResult result = estimator.train(line(10, 4, 1));
  CHECK(result.reason == StopReason::kInputEnded);
  CHECK(result.global_step == 3);
  CHECK(result.examples_seen == 10);
  CHECK(saved(estimator, "global_step") == 3);
  CHECK(estimator.train(line(10, 4, 1), {.steps = 100}).global_step == 6);
}

TEST_CASE("steps that cannot be are refused, and nothing is written", "[estimator][E3]") {
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  CHECK_THROWS_WITH(estimator.train(line(), {.steps = 1, .max_steps = 2}),
                    Contains("steps and max_steps are both given"));
  CHECK_THROWS_WITH(estimator.train(line(), {.steps = 0}), Contains("steps is 0"));
  CHECK_THROWS_WITH(estimator.train(line(), {.max_steps = -3}), Contains("max_steps is -3"));
  CHECK(posix_file_system().list(dir.path()).empty());
  CHECK(estimator.train(line(), {.steps = 1}).global_step == 1);
}

TEST_CASE("max_steps that are reached already end the call at once", "[estimator][E3]") {
  const TemporaryDirectory dir;
  Estimator(linear_model_fn, quiet(dir.path())).train(line(), {.steps = 3});
  const auto never = [](const Features&, const Labels&, ModeKeys, ModelContext&) -> EstimatorSpec {
    fail(ErrorKind::kInternal, "the model_fn was called");
  };
  Estimator estimator(never, quiet(dir.path()));
  const CapturedLog log;
  const InputFn no_input_fn = []() -> Dataset { fail(ErrorKind::kInternal, "the input_fn was called"); };
  const TrainResult result = estimator.train(no_input_fn, {.max_steps = 3});
  CHECK(result.reason == StopReason::kMaxSteps);
  CHECK(result.steps == 0);
  CHECK(result.global_step == 3);
  CHECK_THAT(result.detail, Contains("holds step 3 of 3"));
  CHECK(log.count(LogLevel::kWarning, "holds step 3 and max_steps is 3") == 1);
}

TEST_CASE("training on empty input warns, makes no step and harms nothing", "[estimator][E3]") {
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  const CapturedLog log;
  TrainResult result = estimator.train(no_input());
  CHECK(result.steps == 0);
  CHECK(result.reason == StopReason::kInputEnded);
  CHECK(std::isnan(result.loss));
  CHECK(log.count(LogLevel::kWarning, "gave no batch") == 1);
  CHECK_FALSE(estimator.latest_checkpoint());
  estimator.train(line(), {.steps = 2});
  CHECK(estimator.train(no_input()).global_step == 2);
  CHECK(saved(estimator, "global_step") == 2);
}

TEST_CASE("checkpoints come at the start, at intervals and at the end, and the newest stay", "[estimator][E4][E122]") {
  const TemporaryDirectory dir;
  RunConfig config = quiet(dir.path());
  config.save_checkpoints_steps = 2;
  config.keep_checkpoint_max = 3;
  SECTION("three") {
    Estimator(linear_model_fn, config).train(line(), {.steps = 9});
    CHECK(kept_steps(dir.path()) == std::vector<int64_t>{6, 8, 9});
  }
  SECTION("all") {
    config.keep_checkpoint_max = 0;
    Estimator(linear_model_fn, config).train(line(), {.steps = 9});
    CHECK(kept_steps(dir.path()) == std::vector<int64_t>{0, 2, 4, 6, 8, 9});
  }
  SECTION("only start and end when no interval passes") {
    config.save_checkpoints_steps = 100;
    Estimator(linear_model_fn, config).train(line(), {.steps = 9});
    CHECK(kept_steps(dir.path()) == std::vector<int64_t>{0, 9});
  }
}

TEST_CASE("the checkpoint of the start holds initial values", "[estimator][E4]") {
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  estimator.train(line(), {.steps = 1});
  const CheckpointReader start(dir.file("model.ckpt-0"));
  CHECK(start.tensor("linear/w").item<double>() == 0);
  CHECK(start.tensor("global_step").item<int64_t>() == 0);
  CHECK(saved(estimator, "linear/w") != 0);
}

TEST_CASE("with checkpoints switched off nothing is saved, and the Estimator alone goes on", "[estimator][E4]") {
  const TemporaryDirectory dir;
  RunConfig config = quiet(dir.path());
  config.save_checkpoints_steps = 0;
  Estimator estimator(linear_model_fn, config);
  estimator.train(line(), {.steps = 3});
  CHECK_FALSE(estimator.latest_checkpoint());
  CHECK(estimator.train(line(), {.steps = 3}).global_step == 6);
  CHECK(Estimator(linear_model_fn, config).train(line(), {.steps = 3}).global_step == 3);
  CHECK_THROWS_WITH(
      estimator.train(line(), {.steps = 1, .saving_listeners = {std::make_shared<CheckpointSaverListener>()}}),
      Contains("checkpoints are switched off"));
}

TEST_CASE("a train op without updates still counts its step", "[estimator][E6]") {
  const TemporaryDirectory dir;
  const auto still = [](const Features& features, const Labels&, ModeKeys, ModelContext& ctx) {
    return EstimatorSpec::train(linear_output(features, ctx).mean(), TrainOp());
  };
  Estimator estimator(still, quiet(dir.path()));
  CHECK(estimator.train(line(), {.steps = 4}).global_step == 4);
  CHECK(saved(estimator, "linear/w") == 0);
}

TEST_CASE("a later train call starts its input anew unless it is to go on in it", "[estimator][E3]") {
  const TemporaryDirectory dir;
  std::vector<double> firsts;
  const auto noting = [&](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    firsts.push_back(features["x"][0].item<double>());
    return linear_model_fn(features, labels, mode, ctx);
  };
  Estimator estimator(noting, quiet(dir.path()));
  estimator.train(line(), {.steps = 1});
  estimator.train(line(), {.steps = 1});
  CHECK(firsts == std::vector<double>{0, 0});
  const TrainResult result = estimator.train(line(), {.steps = 1, .continue_input = true});
  CHECK(firsts.back() == 0.25);
  CHECK(result.examples_seen == 12);
  Estimator another(noting, quiet(dir.path()));
  another.train(line(), {.steps = 1, .continue_input = true});
  CHECK(firsts.back() == 0.5);
}

TEST_CASE("input that is not in batches, or absent, is refused before anything is made", "[estimator][E37]") {
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  const InputFn unbatched = [] { return Dataset::from_tensors(line_features(4), line_labels(4)); };
  CHECK_THROWS_WITH(estimator.train(unbatched), Contains("batch(size)"));
  CHECK_THROWS_WITH(estimator.evaluate(unbatched), Contains("batch(size)"));
  CHECK_THROWS_WITH(estimator.predict(unbatched), Contains("batch(size)"));
  CHECK(failure([&] { estimator.train(nullptr, {.steps = 1}); }).kind == ErrorKind::kInvalidArgument);
  CHECK(failure([&] { estimator.evaluate(nullptr); }).kind == ErrorKind::kInvalidArgument);
  CHECK(failure([&] { estimator.predict(InputFn()); }).kind == ErrorKind::kInvalidArgument);
  CHECK(estimator.train(line(), {.steps = 1}).global_step == 1);
}

TEST_CASE("input may be a lone tensor, a dictionary, with labels or without", "[estimator][E37]") {
  const TemporaryDirectory dir;
  const auto model = [](const Features& features, ModeKeys, ModelContext& ctx) {
    const at::Tensor w = ctx.variable("w", [] { return torch::zeros({1}); });
    const at::Tensor loss = (features.tensor() - w).square().mean();
    return EstimatorSpec::train(loss, descend(loss, ctx));
  };
  Estimator estimator(model, quiet(dir.path()));
  const InputFn lone = tensor_input_fn(torch::ones({8}), {.batch_size = 4, .shuffle = false});
  CHECK(estimator.train(lone).global_step == 2);
  CHECK(estimator.train(line_without_labels(8, 4)).global_step == 4);
  CHECK_THROWS_WITH(estimator.train(line(8, 4)), Contains("takes no labels, but the input has some"));
}

TEST_CASE("labels may be a dictionary in training and evaluation, and are dropped in prediction", "[estimator][E37]") {
  const TemporaryDirectory dir;
  const auto model = [](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    const at::Tensor y = linear_output(features, ctx);
    if (mode == ModeKeys::kPredict) {
      CHECK(labels.empty());
      return EstimatorSpec::predict(y);
    }
    CHECK(labels.names() == std::vector<std::string>{"sum", "shift"});
    const at::Tensor loss = (labels["sum"] - labels["shift"] - y).square().mean();
    if (mode == ModeKeys::kEval) return EstimatorSpec::eval(loss);
    return EstimatorSpec::train(loss, descend(loss, ctx));
  };
  const InputFn input = [] {
    const at::Tensor shift = torch::full({16}, 5.0F);
    return Dataset::from_tensors(line_features(16), {{"sum", line_labels(16).tensor() + shift}, {"shift", shift}})
        .batch(4);
  };
  Estimator estimator(model, quiet(dir.path()));
  Estimator lone(linear_model_fn, quiet(dir.file("lone")));
  CHECK(estimator.train(input).examples_seen == 16);
  lone.train(line(16, 4, 1));
  CHECK(saved(estimator, "linear/w") == Approx(saved(lone, "linear/w")));
  CHECK(estimator.evaluate(input).loss() == Approx(lone.evaluate(line(16, 4, 1)).loss()));
  int64_t rows = 0;
  for (const Predictions& row : estimator.predict(input)) rows += row.tensor().numel();
  CHECK(rows == 16);
}

TEST_CASE("initial values and random operations depend on the seed alone", "[estimator][E18]") {
  const auto weights_after = [](uint64_t seed) {
    const TemporaryDirectory dir;
    RunConfig config = quiet(dir.path());
    config.random_seed = seed;
    const auto noisy = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
      const at::Tensor w = ctx.variable("w", [] { return torch::randn({3}); });
      const at::Tensor y = torch::dropout(features["x"].unsqueeze(1) * w, 0.5, true).sum(1);
      const at::Tensor loss = losses::mean_squared_error(labels.tensor(), y, ctx);
      return EstimatorSpec::train(loss, descend(loss, ctx));
    };
    Estimator estimator(noisy, config);
    estimator.train(line(), {.steps = 3});
    return estimator.get_variable_value("w");
  };
  const at::Tensor once = weights_after(7);
  torch::manual_seed(123);
  CHECK(torch::equal(once, weights_after(7)));
  CHECK_FALSE(torch::equal(once, weights_after(8)));
}
