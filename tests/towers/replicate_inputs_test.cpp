// Inputs, modes and variables at the edges of what replicate_model_fn takes.
#include "tests/testing.h"
// testing.h has to come first

#include <atomic>
#include <optional>

#include "estimator/estimator.h"
#include "tests/support/temporary_directory.h"
#include "tests/towers/abs_model.h"

namespace belfry {
namespace {

using testing::abs_model;
using testing::column;
using testing::doubles;
using testing::scalar_variable;
using testing::TowerRunner;
using testing::towers;

TowerOptimizer sgd() { return TowerOptimizer(GradientDescent({.learning_rate = 1.0})); }

// --- With one device everything is passed on as it is ---

// Tells what it was given; the gradient of its loss is 1.
ModelFn watching(Features& features_seen, Labels& labels_seen) {
  return [&](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    features_seen = features;
    labels_seen = labels;
    const at::Tensor loss = scalar_variable(ctx, "c", 10).clone();
    return EstimatorSpec::train(loss, GradientDescent({.learning_rate = 1.0}).minimize(loss, ctx));
  };
}

TEST_CASE("replicate_model_fn: with one device absent labels, absent features and rows that differ are passed on",
          "[towers][replicate][R7]") {
  for (const TowerWeighting weighting : testing::kWeightings) {
    Features features;
    Labels labels;
    TowerRunner runner(towers(watching(features, labels), 1, LossReduction::kMean, weighting));
    const at::Tensor three = column({1, 2, 3});
    const at::Tensor two = column({1, 2});
    runner.train(three, Labels());
    CHECK(features.tensor().is_same(three));
    CHECK(labels.empty());
    runner.train(Features(), two);
    CHECK(features.empty());
    CHECK(labels.tensor().is_same(two));
    runner.train({{"a", three}, {"b", two}}, column({1}));
    CHECK(features["a"].is_same(three));
    CHECK(features["b"].is_same(two));
    CHECK(labels.tensor().size(0) == 1);
    CHECK(runner.number("c") == 10 - 3);
  }
}

// --- With several ---

TEST_CASE("replicate_model_fn: absent labels are absent in every tower", "[towers][replicate][R8]") {
  std::atomic<int> without{0};
  const auto model = [&](const Features& features, const Labels& labels, ModeKeys, ModelContext&) {
    without += labels.empty() ? 1 : 0;
    return EstimatorSpec::eval(features.tensor().sum());
  };
  TowerRunner runner(towers(model, 3, LossReduction::kSum));
  CHECK(runner.eval(column({1, 2, 3, 4}), Labels()).loss.item<double>() == 10);
  CHECK(without == 3);
}

// tf.contrib refuses them; here the labels have rows to split.
TEST_CASE("replicate_model_fn: features may be absent where there are labels", "[towers][replicate][R8]") {
  const auto model = [](const Features& features, const Labels& labels, ModeKeys, ModelContext&) {
    require(features.empty(), "features from nowhere");
    return EstimatorSpec::eval(labels.tensor().sum());
  };
  TowerRunner runner(towers(model, 2, LossReduction::kSum));
  CHECK(runner.eval(Features(), column({1, 2, 3})).loss.item<double>() == 6);
  CHECK_FAILS(runner.eval(Features(), Labels()), ErrorKind::kInvalidArgument, "no feature or label to split");
}

at::Tensor sparse_rows(std::vector<int64_t> rows, std::vector<double> values, int64_t count) {
  const at::Tensor indices = at::stack({at::tensor(rows, at::kLong), at::zeros({int64_t(rows.size())}, at::kLong)});
  return at::sparse_coo_tensor(indices, at::tensor(values, at::kDouble), {count, 2}, at::kDouble);
}

// The sum of the rows, each times its number in the tower.
EstimatorSpec sparse_model(const Features& features, const Labels&, ModeKeys, ModelContext&) {
  const at::Tensor dense = features.tensor().to_dense();
  const at::Tensor numbers = at::arange(1, dense.size(0) + 1, at::kDouble).unsqueeze(1);
  return EstimatorSpec::eval((dense * numbers).sum());
}

TEST_CASE("replicate_model_fn: features that are a lone sparse tensor are split, which tf.contrib refused",
          "[towers][replicate][R8]") {
  const at::Tensor sparse = sparse_rows({0, 1, 2, 4}, {1, 2, 3, 5}, 5);
  TowerRunner runner(towers(sparse_model, 2, LossReduction::kSum));
  const EstimatorSpec spec = runner.eval(sparse, Labels());  // rows 0-2 and 3-4
  REQUIRE(spec.tower_losses.size() == 2);
  CHECK(spec.tower_losses[0].item<double>() == 1 + 2 * 2 + 3 * 3);
  CHECK(spec.tower_losses[1].item<double>() == 2 * 5);
}

TEST_CASE("replicate_model_fn: a sparse feature with fewer rows than towers leaves towers idle",
          "[towers][replicate][R8]") {
  TowerRunner runner(towers(sparse_model, 4, LossReduction::kSum));
  const EstimatorSpec spec = runner.eval(sparse_rows({1}, {7}, 2), Labels());
  CHECK(spec.tower_losses.size() == 2);
  CHECK(spec.loss.item<double>() == 7);
}

TEST_CASE("replicate_model_fn: features that are a lone string tensor are split", "[towers][replicate][R8][R17]") {
  const auto model = [](const Features& features, const Labels&, ModeKeys, ModelContext&) {
    return EstimatorSpec::predict(features.only().strings());
  };
  const StringTensor words({"a", "b", "c", "d", "e"});
  TowerRunner runner(towers(model, 3));
  CHECK(runner.predict(words).predictions.only().strings() == words);
}

TEST_CASE("replicate_model_fn: every tower sees the run's config", "[towers][replicate][R2]") {
  std::atomic<int> right{0};
  const auto model = [&](const Features& features, const Labels&, ModeKeys, ModelContext& ctx) {
    right += ctx.config().random_seed == 77 ? 1 : 0;
    return EstimatorSpec::eval(features.tensor().sum());
  };
  TowerRunner runner(towers(model, 3), /*seed=*/77);
  runner.eval(column({1, 2, 3}), Labels());
  CHECK(right == 3);
}

// --- Modes ---

TEST_CASE("replicate_model_fn: a mode that is none of the three is an error, with one device too",
          "[towers][replicate][R1]") {
  const auto model = [](const Features& features, const Labels&, ModeKeys mode, ModelContext&) {
    EstimatorSpec spec = EstimatorSpec::eval(features.tensor().sum(), {}, {.predictions = features});
    spec.mode = mode;
    return spec;
  };
  for (const int count : {1, 2}) {
    const RunConfig config{.model_dir = "unused"};
    internal::Session session(towers(model, count), config);
    CHECK_FAILS(session.run({{column({1, 2}), Labels()}}, static_cast<ModeKeys>(9)), ErrorKind::kInvalidArgument,
                "mode 9 is none of");
  }
}

TEST_CASE("replicate_model_fn: a loss beside predictions is that of all towers in PREDICT",
          "[towers][replicate][R10]") {
  const auto model = [](const Features& features, const Labels&, ModeKeys, ModelContext& ctx) {
    EstimatorSpec spec = EstimatorSpec::predict({{"x", features.tensor()}});
    spec.loss = (features.tensor() * scalar_variable(ctx, "c", 10)).sum();
    return spec;
  };
  // tf.contrib gives the scaled loss of its first tower: 5.
  for (const auto& [reduction, expected] : {std::pair{LossReduction::kSum, 30.0}, {LossReduction::kMean, 15.0}}) {
    TowerRunner runner(towers(model, 2, reduction, TowerWeighting::kTensorFlow));
    CHECK(runner.predict(column({1, 2})).loss.item<double>() == expected);
  }
}

TEST_CASE("replicate_model_fn: a bare optimizer is refused in an EVAL spec with a train op, too",
          "[towers][replicate][R12]") {
  const auto model = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    const at::Tensor loss = testing::abs_loss(features, labels, scalar_variable(ctx, "c", 10));
    EstimatorSpec spec = EstimatorSpec::eval(loss);
    spec.train_op = GradientDescent({.learning_rate = 1.0}).minimize(loss, ctx);
    return spec;
  };
  TowerRunner runner(towers(model, 2));
  CHECK_FAILS(runner.eval(column({1, 2}), column({1, 2})), ErrorKind::kFailedPrecondition, "wrap the optimizer");
}

TEST_CASE("replicate_model_fn: a spec without the loss that its mode wants says so", "[towers][replicate][R1]") {
  const auto model = [](const Features&, const Labels&, ModeKeys mode, ModelContext&) {
    EstimatorSpec spec;
    spec.mode = mode;
    spec.train_op = TrainOp();
    return spec;
  };
  TowerRunner runner(towers(model, 2));
  CHECK_FAILS(runner.eval(column({1, 2}), Labels()), ErrorKind::kInvalidArgument, "mode eval: the loss is missing");
  CHECK_FAILS(runner.train(column({1, 2}), Labels()), ErrorKind::kInvalidArgument, "mode train: the loss is missing");
}

// --- Variables ---

TEST_CASE("replicate_model_fn: a variable that only a later tower asks for is made and trained, also after a resume",
          "[towers][replicate][R9]") {
  const auto model = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    at::Tensor loss = testing::abs_loss(features, labels, scalar_variable(ctx, "c", 10));
    if (ctx.tower_index() == 1) loss = loss + features.tensor().sum() * scalar_variable(ctx, "late", 5);
    return EstimatorSpec::train(loss, sgd().minimize(loss, ctx));
  };
  const testing::TemporaryDirectory directory;
  const auto input = [] { return Dataset::from_tensors(column({1, 2}), column({1, 2})).batch(2).repeat(); };
  for (const double steps : {1.0, 2.0}) {  // each with an Estimator of its own, which restores what the last one saved
    Estimator estimator(towers(model, 2, LossReduction::kSum),
                        {.model_dir = directory.path(), .save_summary_steps = 0, .log_step_count_steps = 0});
    estimator.train(input, {.steps = 1});
    CHECK(estimator.get_variable_value("late").item<double>() == 5 - 2 * steps);
    CHECK(estimator.get_variable_value("c").item<double>() == 10 - 3 * steps);
  }
}

}  // namespace
}  // namespace belfry
