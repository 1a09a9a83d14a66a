#include "estimator/estimator.h"

#include "tests/testing.h"

#include "core/error.h"
#include "linear_model.h"
#include "tests/support/check_fails.h"
#include "tests/support/temporary_directory.h"

using namespace belfry;
using namespace belfry::testing;
using Catch::Contains;

namespace {

struct LineParams {
  double slope = 1;
};

EstimatorSpec parametrised(const Features& features, const Labels&, ModeKeys, ModelContext&, const LineParams& params) {
  return EstimatorSpec::predict({{"y", features["x"] * params.slope}});
}

// As a canned estimator is made: with public headers, by handing a model_fn to the constructor.
class LineEstimator : public Estimator {
 public:
  explicit LineEstimator(const std::string& model_dir) : Estimator(linear_model_fn, quiet(model_dir)) {}

  double slope() const { return get_variable_value("linear/w").item<double>(); }
};

}  // namespace

TEST_CASE("without a model_dir a fresh temporary folder is taken, with a warning", "[estimator][E1]") {
  const CapturedLog log;
  Estimator estimator(linear_model_fn, {.save_summary_steps = 0, .log_step_count_steps = 0});
  const Estimator another(linear_model_fn);
  CHECK(log.count(LogLevel::kWarning, estimator.model_dir()) == 1);
  CHECK(estimator.model_dir() != another.model_dir());
  CHECK(posix_file_system().is_directory(estimator.model_dir()));
  estimator.train(line(), {.steps = 1});
  CHECK(*estimator.latest_checkpoint() == join_path(estimator.model_dir(), "model.ckpt-1"));
  posix_file_system().remove_all(estimator.model_dir());
  posix_file_system().remove_all(another.model_dir());
}

TEST_CASE("a model_dir is made at the first use, its parents too", "[estimator][E1]") {
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, quiet(dir.file("a/b")));
  CHECK_FALSE(posix_file_system().exists(dir.file("a")));
  CHECK_FALSE(estimator.latest_checkpoint());
  estimator.train(line(), {.steps = 1});
  CHECK(estimator.latest_checkpoint() == dir.file("a/b/model.ckpt-1"));
}

TEST_CASE("an Estimator without model_fn, or with a config that cannot be right, is not made", "[estimator][E1]") {
  const TemporaryDirectory dir;
  CHECK_THROWS_WITH(Estimator(ModelFn(), quiet(dir.path())), Contains("no model_fn"));
  CHECK_THROWS_WITH(Estimator(linear_model_fn, {.model_dir = dir.path(), .keep_checkpoint_max = -1}),
                    Contains("keep_checkpoint_max is -1"));
}

TEST_CASE("config, model_dir and model_fn are given back", "[estimator][E16]") {
  const TemporaryDirectory dir;
  RunConfig config = quiet(dir.path());
  config.keep_checkpoint_max = 17;
  const Estimator estimator(linear_model_fn, config);
  config.keep_checkpoint_max = 1;
  CHECK(estimator.config().keep_checkpoint_max == 17);
  CHECK(estimator.model_dir() == dir.path());
  const TemporaryDirectory other;
  Estimator copy(estimator.model_fn(), quiet(other.path()));
  CHECK(copy.train(line(), {.steps = 2}).global_step == 2);
}

TEST_CASE("params are held by value and handed to the model_fn", "[estimator][E2][E16]") {
  const TemporaryDirectory dir;
  LineParams params{.slope = 3};
  Estimator estimator(parametrised, quiet(dir.path()), params);
  params.slope = 5;
  CHECK(estimator.predict(line_features(4))["y"][1].item<double>() == Approx(0.75));
}

TEST_CASE("a subclass is an Estimator with a model_fn of its own", "[estimator][E1]") {
  const TemporaryDirectory dir;
  LineEstimator line_estimator(dir.path());
  line_estimator.train(line(), {.steps = 2000});
  CHECK(line_estimator.slope() == Approx(2).epsilon(1e-3));
  Estimator& base = line_estimator;
  CHECK(base.evaluate(line(16, 4, 1)).loss() < 1e-5);
}

TEST_CASE("an Estimator is moved with its live training", "[estimator][E1]") {
  STATIC_REQUIRE_FALSE(std::is_copy_constructible_v<Estimator>);
  STATIC_REQUIRE(std::is_nothrow_move_constructible_v<Estimator>);
  const TemporaryDirectory dir;
  const TemporaryDirectory other;
  RunConfig config = quiet(dir.path());
  config.save_checkpoints_steps = 0;  // so that only the object knows where it is
  Estimator estimator(linear_model_fn, config);
  estimator.train(line(), {.steps = 2});
  Estimator moved(std::move(estimator));
  CHECK(moved.train(line(), {.steps = 2}).global_step == 4);
  Estimator assigned(linear_model_fn, quiet(other.path()));
  assigned = std::move(moved);
  CHECK(assigned.train(line(), {.steps = 2}).global_step == 6);
  CHECK(assigned.model_dir() == dir.path());
}

TEST_CASE("several Estimators of one process are independent", "[estimator]") {
  const TemporaryDirectory a;
  const TemporaryDirectory b;
  Estimator first(linear_model_fn, quiet(a.path()));
  Estimator second(linear_model_fn, quiet(b.path()));
  first.train(line(), {.steps = 1});
  second.train(line(), {.steps = 3});
  first.train(line(), {.steps = 2});
  CHECK(saved(first, "linear/w") != 0);
  CHECK(saved(first, "global_step") == saved(second, "global_step"));
}
