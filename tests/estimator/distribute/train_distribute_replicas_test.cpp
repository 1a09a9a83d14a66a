// What a model_fn sees of its replica and of the others.
#include <ATen/ATen.h>

#include <mutex>
#include <set>

#include "classifier.h"
#include "core/error.h"
#include "distribute/distributed_variable.h"
#include "distribute/strategy_extended.h"
#include "estimator/losses/losses.h"
#include "tests/estimator/linear_model.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"

namespace belfry {
namespace {

using testing::replicas_of;
using testing::TemporaryDirectory;
using testing::under;

}  // namespace

TEST_CASE("the model_fn of a strategy sees its replica, and its replicas meet", "[estimator][distribute][X2][X10]") {
  const std::string strategy = GENERATE("mirrored_3", "central_3", "one_device");
  const int replicas = replicas_of(strategy);
  std::mutex mutex;
  std::set<std::pair<int, int>> seen;
  std::vector<double> sums, merged;
  const auto model_fn = [&](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    const at::Tensor w = ctx.variable("w", [] { return at::ones({}); });
    ReplicaContext* replica = get_replica_context();
    const double sum = replica->all_reduce("sum", features["x"].sum()).template item<double>();
    const at::Tensor total = replica->merge_call(
        [](Strategy& across, const PerReplica<at::Tensor>& rows) { return across.reduce("sum", rows); },
        at::full({}, static_cast<double>(features["x"].size(0))));
    {
      const std::lock_guard lock(mutex);
      seen.emplace(replica->replica_id(), replica->num_replicas_in_sync());
      sums.push_back(sum);
      merged.push_back(total.item<double>());
    }
    const at::Tensor loss = losses::mean_squared_error(labels.tensor(), features["x"] * w, ctx);
    require(mode == ModeKeys::kTrain, "only training is meant");
    return EstimatorSpec::train(loss, testing::descend(loss, ctx));
  };
  const TemporaryDirectory dir;
  Estimator estimator(model_fn, under(dir.path(), strategy));
  const auto input = [&] {
    const at::Tensor x = at::arange(2 * replicas + 1, at::kFloat);
    return Dataset::from_tensors({{"x", x}}, x).batch(2);
  };
  estimator.train(input, {.steps = 1});
  CHECK(seen.size() == static_cast<size_t>(replicas));
  for (const auto& [id, count] : seen) CHECK(count == replicas);
  const double all = replicas * (2.0 * replicas - 1);  // 0 + 1 + .. + (2 replicas - 1)
  for (const double sum : sums) CHECK(sum == all);
  for (const double rows : merged) CHECK(rows == 2 * replicas);

  // The last row is for one replica alone.
  seen.clear();
  sums.clear();
  merged.clear();
  CHECK(estimator.train(input, {.continue_input = true}).steps == 1);
  CHECK(seen == std::set<std::pair<int, int>>{{0, 1}});
  CHECK(sums == std::vector<double>{2.0 * replicas});
  CHECK(merged == std::vector<double>{1});
  CHECK_FALSE(has_strategy());
}

TEST_CASE("a variable is updated in a merge function of an incomplete step", "[estimator][distribute][S5]") {
  const auto model = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    DistributedVariable rows =
        get_variable("rows", at::zeros({}),
                     {.synchronization = VariableSynchronization::kOnRead, .aggregation = VariableAggregation::kSum});
    get_replica_context()->merge_call(
        [&](Strategy& across, const PerReplica<at::Tensor>& counts) {
          across.extended().update(
              rows, [](at::Tensor& copy, const at::Tensor& count) { copy.add_(count); }, counts);
        },
        at::full({}, static_cast<double>(labels.rows())));
    const at::Tensor loss = losses::mean_squared_error(labels.tensor(), testing::linear_output(features, ctx), ctx);
    return EstimatorSpec::train(loss, testing::descend(loss, ctx));
  };
  const TemporaryDirectory dir;
  Estimator estimator(model, under(dir.path(), "mirrored_3"));
  CHECK(estimator.train(testing::line(10, 2, 1)).steps == 2);
  CHECK(testing::saved(estimator, "rows") == 10);
}

}  // namespace belfry
