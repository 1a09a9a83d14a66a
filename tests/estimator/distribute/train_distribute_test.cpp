// An Estimator under strategies, as a user would.
#include <ATen/ATen.h>

#include <torch/nn/modules/batchnorm.h>

#include "classifier.h"
#include "distribute/sync_batch_norm_module.h"
#include "estimator/losses/losses.h"
#include "tests/estimator/linear_model.h"
#include "tests/support/reference.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"
#include "towers/replicate_model_fn.h"

namespace belfry {
namespace {

using testing::batches;
using testing::check_same_variables;
using testing::classifier;
using testing::in_double;
using testing::replicas_of;
using testing::rows;
using testing::TemporaryDirectory;
using testing::under;

const std::vector<std::string> kStrategies = {"one_device", "mirrored_1", "mirrored_2", "mirrored_3",
                                              "central_1",  "central_2",  "central_3"};

}  // namespace

TEST_CASE("a model_fn trains and evaluates equally on one device, over towers and under each strategy",
          "[estimator][distribute][E121][S6]") {
  const std::string& strategy = GENERATE(from_range(kStrategies));
  INFO(strategy);
  const int replicas = replicas_of(strategy);
  const TemporaryDirectory here, there, yonder;
  Estimator one(classifier, testing::quiet(here.path()));
  Estimator towers(replicate_model_fn(classifier, {.devices = testing::cpus(replicas)}), testing::quiet(there.path()));
  Estimator distributed(classifier, under(yonder.path(), strategy));
  // 5 rows for each replica; the last step has fewer rows, and not for all replicas.
  const int64_t count = 4 * 5 * replicas + 3, large = 5 * replicas;
  const TrainResult expected = one.train(batches(count, large));
  towers.train(batches(count, large));
  const TrainResult result = distributed.train(batches(count, 5));
  CHECK(expected.steps == 5);
  CHECK(result.steps == expected.steps);
  CHECK(result.examples_seen == expected.examples_seen);
  CHECK(result.loss == Approx(expected.loss).epsilon(1e-10));
  check_same_variables(one, towers);
  check_same_variables(one, distributed);
  CHECK(one.get_variable_value("training/Momentum/net/weight/momentum").abs().min().item<double>() > 0);

  const EvalResult wanted = one.evaluate(batches(count, large)), got = distributed.evaluate(batches(count, 5));
  for (const char* name : {"loss", "auc", "mean"}) CHECK(got[name] == Approx(wanted[name]).epsilon(1e-10));
  const Predictions predicted = distributed.predict(rows(4));
  testing::check_close(predicted["logits"], one.predict(rows(4))["logits"], 1e-10, 1e-12);
}

TEST_CASE("checkpoints of a strategy are those of one device and of other strategies",
          "[estimator][distribute][E121][S30]") {
  const TemporaryDirectory here, there;
  Estimator whole(classifier, testing::quiet(here.path()));
  whole.train(batches(60, 12));
  // Each part in a process of its own, as it were.
  const auto go_on = [&](const std::string& strategy, int64_t size) {
    Estimator part(classifier, under(there.path(), strategy));
    part.train(batches(60, size), {.steps = 1, .continue_input = true});
  };
  go_on("mirrored_2", 6);
  // The input's place counts batches, so that it is the same for these: all in batches of 6.
  go_on("central_2", 6);
  go_on("mirrored_2", 6);
  Estimator last(classifier, under(there.path(), "one_device"));
  const TrainResult rest = last.train(batches(60, 6), {.continue_input = true});
  CHECK(rest.steps == 4);
  CHECK(rest.examples_seen == 60);
  CHECK(last.latest_checkpoint().has_value());
}

TEST_CASE("an input_fn goes by the number of replicas", "[estimator][distribute][S36][E37]") {
  std::vector<InputContext> contexts;
  const auto input = [&](const InputContext& context) {
    contexts.push_back(context);
    return batches(24, context.get_per_replica_batch_size(12), 2)();
  };
  const TemporaryDirectory here, there;
  Estimator one(classifier, testing::quiet(here.path())), three(classifier, under(there.path(), "mirrored_3"));
  one.train(input);
  three.train(input);
  three.evaluate(input);
  REQUIRE(contexts.size() == 3);
  CHECK(contexts[0].num_replicas_in_sync == 1);
  CHECK(contexts[1].num_replicas_in_sync == 3);
  CHECK(contexts[2].num_replicas_in_sync == 3);
  CHECK(contexts[1].num_input_pipelines == 1);
  check_same_variables(one, three);
}

TEST_CASE("running statistics under a strategy are the mean over replicas by rows", "[estimator][distribute][S28]") {
  const auto model_fn = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    auto norm = ctx.module(
        "norm", [] { return in_double(torch::nn::BatchNorm1d(torch::nn::BatchNormOptions(3).momentum(0.5))); });
    const at::Tensor out =
        norm->forward(features["x"]).sum(1) + ctx.variable("bias", [] { return at::zeros({}, at::kDouble); });
    const at::Tensor loss = losses::mean_squared_error(labels.tensor().to(at::kDouble), out, ctx);
    return EstimatorSpec::train(loss, testing::descend(loss, ctx));
  };
  const TemporaryDirectory dir;
  Estimator estimator(model_fn, under(dir.path(), "mirrored_2"));
  estimator.train(batches(6, 4), {.steps = 1});  // 4 rows and 2
  const at::Tensor x = rows(6)["x"];
  const at::Tensor mean = x.narrow(0, 0, 4).mean(0) * (4.0 / 6) + x.narrow(0, 4, 2).mean(0) * (2.0 / 6);
  testing::check_close(estimator.get_variable_value("norm/running_mean"), 0.5 * mean, 1e-10, 1e-12);
}

TEST_CASE("batches without examples are left out of a step", "[estimator][distribute][E6]") {
  const auto input = [] {
    return Dataset::from_generator(
        [] {
          return [batch = 0]() mutable -> std::optional<Batch> {
            if (++batch > 6) return std::nullopt;
            const int64_t size = batch % 2 ? 3 : 0;
            return Batch{testing::line_features(size), testing::line_labels(size)};
          };
        },
        {.batched = true});
  };
  const TemporaryDirectory dir;
  Estimator estimator(testing::linear_model_fn, under(dir.path(), "mirrored_2"));
  const TrainResult result = estimator.train(input);
  CHECK(result.steps == 3);
  CHECK(result.examples_seen == 9);
}

TEST_CASE("a lone last row under synchronized batch norm is a step", "[estimator][distribute]") {
  const auto model = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    const at::Tensor x = features["x"].unsqueeze(1);
    const at::Tensor y = ctx.module("norm", [] { return SyncBatchNorm(1); })->forward(x).squeeze(1) +
                         testing::linear_output(features, ctx);
    const at::Tensor loss = losses::mean_squared_error(labels.tensor(), y, ctx);
    return EstimatorSpec::train(loss, testing::descend(loss, ctx));
  };
  const TemporaryDirectory dir;
  Estimator estimator(model, under(dir.path(), "mirrored_3"));
  CHECK(estimator.train(testing::line(10, 3, 1)).steps == 2);
  CHECK(std::isfinite(testing::saved(estimator, "norm/running_var")));
}

}  // namespace belfry
