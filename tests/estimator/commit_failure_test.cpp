// A train op that throws while it writes variables.
#include "tests/testing.h"

#include "checkpoint/checkpoint_manager.h"
#include "checkpoint/checkpoint_reader.h"
#include "linear_model.h"
#include "tests/support/failing_descent.h"
#include "tests/support/temporary_directory.h"

using namespace belfry;
using namespace belfry::testing;

namespace {

// The linear model, whose commit of step `at` fails once.
ModelFn failing_once_at(int64_t at) {
  const auto armed = std::make_shared<std::atomic<bool>>(false);
  const auto left = std::make_shared<int>(1);
  return [at, armed, left](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    if (mode != ModeKeys::kTrain) return linear_model_fn(features, labels, mode, ctx);
    const at::Tensor loss = (labels.tensor() - linear_output(features, ctx)).square().mean();
    *armed = ctx.global_step() + 1 == at && (*left)-- > 0;
    return EstimatorSpec::train(loss, failing_descent(armed).minimize(loss, ctx));
  };
}

RunConfig saving_every(const std::string& directory, int64_t steps) {
  RunConfig config = quiet(directory);
  config.save_checkpoints_steps = steps;
  return config;
}

// Every batch is the same, so that it does not matter with which one a call begins.
InputFn one_batch() { return line(4, 4); }

}  // namespace

TEST_CASE("a train op that throws half-way ends the call, and the next one goes on from the newest checkpoint",
          "[estimator][E3][E4]") {
  const TemporaryDirectory whole_dir;
  Estimator whole(linear_model_fn, saving_every(whole_dir.path(), 2));
  whole.train(one_batch(), {.max_steps = 4});
  const double w_of_4 = saved(whole, "linear/w");
  whole.train(one_batch(), {.max_steps = 9});

  const TemporaryDirectory dir;
  Estimator estimator(failing_once_at(6), saving_every(dir.path(), 2));
  CHECK_THROWS_WITH(estimator.train(one_batch(), {.max_steps = 9}), "the update failed");
  // Step 5 was made and step 6 half made: neither is written.
  CHECK(estimator.latest_checkpoint() == dir.file("model.ckpt-4"));
  CHECK(saved(estimator, "linear/w") == w_of_4);
  const at::Tensor y = estimator.predict(line_features(4))["y"];
  CHECK(y[0].item<double>() == saved(estimator, "linear/b"));

  const CapturedLog log;
  CHECK(estimator.train(one_batch(), {.max_steps = 9}).steps == 5);
  INFO(log.text());
  CHECK(log.count(LogLevel::kWarning, "training goes on from " + dir.file("model.ckpt-4")) == 1);
  CHECK(saved(estimator, "linear/w") == saved(whole, "linear/w"));
  CHECK(saved(estimator, "linear/b") == saved(whole, "linear/b"));
}

TEST_CASE("another process does not see that a train op threw", "[estimator][E3]") {
  const TemporaryDirectory dir;
  CHECK_THROWS_WITH(Estimator(failing_once_at(4), saving_every(dir.path(), 3)).train(one_batch(), {.max_steps = 9}),
                    "the update failed");
  const CheckpointReader left(CheckpointManager(dir.path()).latest().prefix.value());
  left.verify();
  CHECK(left.tensor("global_step").item<int64_t>() == 3);
  Estimator next(failing_once_at(-1), saving_every(dir.path(), 3));
  CHECK(next.train(one_batch(), {.max_steps = 9}).steps == 6);
}

TEST_CASE("without checkpoints a train op that throws sends training back to initial values", "[estimator][E3]") {
  const TemporaryDirectory dir;
  Estimator estimator(failing_once_at(3), saving_every(dir.path(), 0));
  CHECK_THROWS_WITH(estimator.train(one_batch(), {.steps = 5}), "the update failed");
  const CapturedLog log;
  CHECK(estimator.train(one_batch(), {.steps = 2}).global_step == 2);
  CHECK(log.count(LogLevel::kWarning, "training goes on from initial values") == 1);
}
