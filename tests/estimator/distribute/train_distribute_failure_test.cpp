// Failures of replicas, and models that strategies refuse.
#include <ATen/ATen.h>

#include <atomic>

#include "classifier.h"
#include "core/error.h"
#include "estimator/losses/losses.h"
#include "tests/estimator/linear_model.h"
#include "tests/support/check_fails.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"
#include "towers/replicate_model_fn.h"

namespace belfry {
namespace {

using testing::batches;
using testing::classifier;
using testing::TemporaryDirectory;
using testing::under;

}  // namespace

TEST_CASE("what a replica throws ends the train call and leaves the Estimator usable",
          "[estimator][distribute][E121]") {
  std::atomic<bool> fails = false;
  const auto model_fn = [&](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    if (fails && ctx.tower_index() == 1) fail(ErrorKind::kOutOfRange, "replica 1 cannot go on");
    return testing::linear_model_fn(features, labels, mode, ctx);
  };
  const TemporaryDirectory dir;
  Estimator estimator(model_fn, under(dir.path(), "mirrored_2"));
  estimator.train(testing::line(), {.steps = 1});
  const double before = testing::saved(estimator, "linear/w");
  fails = true;
  CHECK_FAILS(estimator.train(testing::line(), {.steps = 1}), ErrorKind::kOutOfRange, "replica 1 cannot go on");
  CHECK_FAILS(estimator.evaluate(testing::line(16, 4, 1)), ErrorKind::kOutOfRange, "replica 1 cannot go on");
  fails = false;
  CHECK(testing::saved(estimator, "linear/w") == before);
  CHECK(estimator.train(testing::line(), {.steps = 1}).global_step == 2);
  CHECK(estimator.evaluate(testing::line(16, 4, 1)).global_step() == 2);
}

TEST_CASE("towers inside a strategy are refused", "[estimator][distribute][R5]") {
  const TemporaryDirectory dir;
  Estimator estimator(replicate_model_fn(classifier, {.devices = testing::cpus(2)}), under(dir.path(), "mirrored_2"));
  CHECK_FAILS(estimator.train(batches(8, 2)), ErrorKind::kInvalidArgument,
              "runs under MirroredStrategy, which makes replicas itself");
}

TEST_CASE("verify_towers_every compares the replicas of a strategy with one device", "[estimator][distribute][E121]") {
  const auto wrong = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    // A maximum over the replica's own rows.
    const at::Tensor loss = losses::mean_squared_error(labels.tensor(), testing::linear_output(features, ctx), ctx) +
                            features["x"].max() * ctx.variable("scale", [] { return at::ones({}); });
    return EstimatorSpec::train(loss, testing::descend(loss, ctx));
  };
  const TemporaryDirectory here, there;
  RunConfig config = under(here.path(), "mirrored_2");
  config.verify_towers_every = 1;
  Estimator right(testing::linear_model_fn, config);
  CHECK(right.train(testing::line(16, 3), {.steps = 6}).steps == 6);
  config.model_dir = there.path();
  Estimator bad(wrong, config);
  CHECK_FAILS(bad.train(testing::line(16, 3)), ErrorKind::kFailedPrecondition, "verify_towers_every");
}

}  // namespace belfry
