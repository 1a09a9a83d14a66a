// RunConfig::verify_towers_every.
#include "core/log.h"
#include "estimator/estimator.h"
#include "estimator/losses/losses.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"
#include "tests/towers/abs_model.h"

namespace belfry {
namespace {

using testing::column;
using testing::cpus;
using testing::scalar_variable;
using testing::TemporaryDirectory;
using testing::towers;

using Loss = std::function<at::Tensor(const at::Tensor& error, ModelContext& ctx)>;

// errors: labels - features * c, a column.
ModelFn model_with(Loss loss_of) {
  return [loss_of](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    const at::Tensor error = labels.tensor() - features.only().tensor() * scalar_variable(ctx, "c", 10);
    const at::Tensor loss = loss_of(error, ctx);
    return EstimatorSpec::train(loss, TowerOptimizer(GradientDescent({.learning_rate = 0.01})).minimize(loss, ctx));
  };
}

InputFn five_rows() {
  return [] {
    return Dataset::from_tensors({{"x", column({1, 2, 3, 4, 6})}}, column({1, -1, 2, 0, 4})).batch(5).repeat();
  };
}

TrainResult train(const ModelFn& model_fn, int count, int64_t every, const TemporaryDirectory& dir, int64_t steps = 3) {
  Estimator estimator(
      towers(model_fn, count),
      {.model_dir = dir.path(), .verify_towers_every = every, .save_summary_steps = 0, .log_step_count_steps = 0});
  return estimator.train(five_rows(), {.steps = steps});
}

at::Tensor masked(const at::Tensor& error) { return error.lt(-25).to(error.scalar_type()); }

TEST_CASE("verify_towers_every: losses that are exact pass", "[towers][verify]") {
  const Loss good[] = {
      [](const at::Tensor& e, ModelContext& ctx) { return losses::mean(e.square(), ctx); },
      [](const at::Tensor& e, ModelContext& ctx) { return losses::mean(e.square(), ctx, masked(e)); },
      [](const at::Tensor& e, ModelContext& ctx) {
        return losses::compute_weighted_loss(e.square(), ctx, {.reduction = LossReduction::kSum}) +
               losses::penalty(scalar_variable(ctx, "c", 10).square(), ctx);
      },
      [](const at::Tensor& e, ModelContext& ctx) {
        const at::Tensor all = ctx.global_sum(e.square().sum());
        return losses::penalty(all.sqrt(), ctx);
      },
      [](const at::Tensor& e, ModelContext& ctx) {  // a part that only some towers have
        at::Tensor loss = losses::mean(e.abs(), ctx);
        if (masked(e).any().item<bool>()) loss = loss + losses::mean(e.square(), ctx, masked(e));
        return loss;
      },
  };
  for (size_t i = 0; i < std::size(good); ++i) {
    for (const int count : {1, 2, 3}) {
      CAPTURE(i, count);
      const TemporaryDirectory dir;
      CHECK(train(model_with(good[i]), count, 1, dir).global_step == 3);
    }
  }
}

TEST_CASE("verify_towers_every: a loss that is not exact is named, and no step is made", "[towers][verify]") {
  struct Case {
    Loss loss;
    std::string named;
  };
  const Case bad[] = {
      // A masked mean of one's own: the denominator is the tower's.
      {[](const at::Tensor& e, ModelContext&) { return (e.square() * masked(e)).sum() / masked(e).sum().clamp_min(1); },
       "the loss of minimize of SGD at"},
      // A root of an exact loss.
      {[](const at::Tensor& e, ModelContext& ctx) { return losses::mean(e.square(), ctx).sqrt(); },
       "every loss of losses:: in it agrees"},
      // Entries that know of the tower's other rows.
      {[](const at::Tensor& e, ModelContext& ctx) {
         return losses::mean(e.square() - e.square().mean(), ctx, e.abs());
       },
       "the loss of losses:: at"},
  };
  for (size_t i = 0; i < std::size(bad); ++i) {
    CAPTURE(i);
    const TemporaryDirectory dir;
    CHECK_FAILS(train(model_with(bad[i].loss), 2, 1, dir), ErrorKind::kFailedPrecondition, bad[i].named);
    CHECK_FAILS(train(model_with(bad[i].loss), 2, 1, dir), ErrorKind::kFailedPrecondition, "verify_towers_test.cpp:");
    // Off, or on one tower, it trains.
    CHECK(train(model_with(bad[i].loss), 2, 0, dir).global_step == 3);
    const TemporaryDirectory other;
    CHECK(train(model_with(bad[i].loss), 1, 1, other).global_step == 3);
  }
}

TEST_CASE("verify_towers_every: it looks at every so many steps", "[towers][verify]") {
  const auto bad_at_two = model_with([](const at::Tensor& e, ModelContext& ctx) {
    const at::Tensor loss = losses::mean(e.square(), ctx);
    return ctx.global_step() == 2 ? loss.sqrt() : loss;
  });
  const TemporaryDirectory dir;
  CHECK(train(bad_at_two, 2, 3, dir, 5).global_step == 5);
  const TemporaryDirectory other;
  CHECK_FAILS(train(bad_at_two, 2, 2, other, 5), ErrorKind::kFailedPrecondition, "minimize");
}

TEST_CASE("verify_towers_every: a gradient that differs while the losses agree is named by its variable",
          "[towers][verify]") {
  // The value is exact, but its slope is that of the tower's own rows.
  const auto model = model_with([](const at::Tensor& e, ModelContext& ctx) {
    const at::Tensor exact = losses::mean(e.square(), ctx);
    const at::Tensor own = e.square().sum().sqrt();
    return exact + own - own.detach();
  });
  const TemporaryDirectory dir;
  CHECK_FAILS(train(model, 2, 1, dir), ErrorKind::kFailedPrecondition, "the gradient of variable 'c'");
}

TEST_CASE("verify_towers_every: training goes the same way with it and without", "[towers][verify]") {
  const auto model = model_with([](const at::Tensor& e, ModelContext& ctx) { return losses::mean(e.square(), ctx); });
  double values[2];
  for (const int64_t every : {0, 1}) {
    const TemporaryDirectory dir;
    Estimator estimator(
        towers(model, 3),
        {.model_dir = dir.path(), .verify_towers_every = every, .save_summary_steps = 0, .log_step_count_steps = 0});
    estimator.train(five_rows(), {.steps = 4});
    values[every] = estimator.get_variable_value("c").item<double>();
  }
  CHECK(values[0] == values[1]);
}

TEST_CASE("verify_towers_every: random numbers cannot be compared, which is said once", "[towers][verify]") {
  static std::string text;
  text.clear();
  const LogSink before = set_log_sink([](LogLevel, std::string_view message) { text += std::string(message) + "\n"; });
  const auto model = model_with([](const at::Tensor& e, ModelContext& ctx) {
    return losses::mean(at::dropout(e, 0.5, /*train=*/true).square(), ctx);
  });
  const TemporaryDirectory dir;
  CHECK(train(model, 2, 1, dir).global_step == 3);
  set_log_sink(before);
  const size_t first = text.find("draws random numbers");
  CHECK(first != std::string::npos);
  CHECK(text.find("draws random numbers", first + 1) == std::string::npos);
}

TEST_CASE("verify_towers_every: settings that cannot be are refused", "[towers][verify]") {
  CHECK_FAILS(RunConfig{.verify_towers_every = -1}.validate(), ErrorKind::kInvalidArgument,
              "verify_towers_every is -1");
  CHECK_FAILS(RunConfig{.verify_towers_tolerance = -1}.validate(), ErrorKind::kInvalidArgument, "tolerance is -1");
}

}  // namespace
}  // namespace belfry
