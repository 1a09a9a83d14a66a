// A strategy that several Estimators and scopes have in common.
#include <ATen/ATen.h>

#include "classifier.h"
#include "tests/estimator/linear_model.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"

namespace belfry {
namespace {

using testing::batches;
using testing::check_same_variables;
using testing::classifier;
using testing::strategy_named;
using testing::TemporaryDirectory;
using testing::under;

}  // namespace

TEST_CASE("one strategy serves several Estimators, and an evaluation inside a training",
          "[estimator][distribute][E121]") {
  class Evaluate : public SessionRunHook {
   public:
    explicit Evaluate(Estimator& estimator) : estimator_(estimator) {}
    void after_run(RunContext&) override { ++evaluations, estimator_.evaluate(batches(8, 2)); }
    int evaluations = 0;

   private:
    Estimator& estimator_;
  };
  const TemporaryDirectory here, there;
  RunConfig config = under(here.path(), "mirrored_2");
  config.eval_distribute = config.train_distribute;
  Estimator one(classifier, config);
  config.model_dir = there.path();
  Estimator other(classifier, config);
  const auto hook = std::make_shared<Evaluate>(one);
  one.train(batches(8, 2), {.hooks = {hook}});
  other.train(batches(8, 2));
  CHECK(hook->evaluations == 2);
  check_same_variables(one, other);
}

TEST_CASE("update_config_proto gives a copy of a config under the strategy", "[estimator][distribute][S34][S54]") {
  const TemporaryDirectory dir;
  const RunConfig before = testing::quiet(dir.path());
  const auto strategy = strategy_named("mirrored_2");
  const RunConfig after = strategy->update_config_proto(before);
  CHECK_FALSE(before.train_distribute);
  REQUIRE(after.train_distribute);
  CHECK(after.model_dir == before.model_dir);
  CHECK(after.train_distribute.get() != strategy.get());
  CHECK(after.train_distribute->name() == "MirroredStrategy");
  CHECK(after.eval_distribute->num_replicas_in_sync() == 2);
  CHECK_FALSE(get_strategy().update_config_proto(before).train_distribute);
  Estimator estimator(classifier, after);
  CHECK(estimator.train(batches(8, 2)).steps == 2);
}

TEST_CASE("an Estimator runs in whatever scope it is called", "[estimator][distribute][S26][S33]") {
  const TemporaryDirectory here, there;
  RunConfig config = under(here.path(), "mirrored_2");
  Estimator plain(classifier, config);
  plain.train(batches(8, 2));
  const std::shared_ptr<Strategy> own = strategy_named("mirrored_2");
  config.train_distribute = own;
  config.model_dir = there.path();
  Estimator inside(classifier, config);
  {
    const StrategyScope scope = own->scope();
    CHECK(inside.train(batches(8, 2), {.steps = 1}).steps == 1);
    CHECK(&get_strategy() == own.get());
  }
  const auto other = strategy_named("central_2");
  experimental_set_strategy(other.get());
  CHECK(inside.train(batches(8, 2), {.continue_input = true}).steps == 1);
  CHECK(&get_strategy() == other.get());
  experimental_set_strategy(nullptr);
  check_same_variables(plain, inside);
}

}  // namespace belfry
