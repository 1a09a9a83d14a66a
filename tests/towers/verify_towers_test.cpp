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

TEST_CASE("verify_towers_every: what is zero but for rounding is no difference", "[towers][verify]") {
  // Parts that cancel over the towers, and a bias before batch norm, whose gradient is zero.
  const auto model = [](const Features& features, const Labels&, ModeKeys, ModelContext& ctx) {
    const at::Tensor x = features["x"];
    const at::Tensor bias = ctx.variable("bias", [] { return at::zeros({16}); });
    const at::Tensor scale = ctx.variable("scale", [] { return at::ones({16}); });
    const at::Tensor normal = at::batch_norm(x + bias, scale, {}, {}, {}, /*training=*/true, 0.1, 1e-5, false);
    const at::Tensor loss = losses::compute_weighted_loss((normal - 100 * x.roll(1, 1)).square().mean(1), ctx,
                                                          {.reduction = LossReduction::kSum}) +
                            losses::mean(features["advantage"], ctx);
    return EstimatorSpec::train(loss, TowerOptimizer(GradientDescent({.learning_rate = 1e-6})).minimize(loss, ctx));
  };
  const at::Tensor x = at::sin(at::arange(96 * 16, at::kDouble).square()).view({96, 16}).to(at::kFloat);
  const at::Tensor raw = 1000 * at::sin(at::arange(96, at::kDouble).square()).to(at::kFloat);
  const TemporaryDirectory dir;
  Estimator estimator(
      replicate_model_fn(
          model, {.loss_reduction = LossReduction::kSum, .devices = cpus(3), .batch_norm = TowerBatchNorm::kSync}),
      {.model_dir = dir.path(), .verify_towers_every = 1, .save_summary_steps = 0});
  const auto input = [&] {
    return Dataset::from_tensors({{"x", x}, {"advantage", raw - raw.mean()}}).batch(96).repeat();
  };
  CHECK(estimator.train(input, {.steps = 3}).global_step == 3);
}

TEST_CASE("verify_towers_every: what is no number in a tower alone is a difference", "[towers][verify]") {
  // A masked mean of one's own, over a tower without a row of the mask.
  const auto loss = model_with([](const at::Tensor& e, ModelContext&) {
    const at::Tensor mask = e.gt(-10).to(e.scalar_type());
    return (e.square() * mask).sum() / mask.sum();
  });
  // A slope of its own that is no number, of a value that is one.
  const auto slope = model_with([](const at::Tensor& e, ModelContext& ctx) {
    const at::Tensor own = (e * (ctx.tower_count() > 1 ? 0 : 1)).square().sum().sqrt();
    return losses::mean(e.square(), ctx) + 0 * own;
  });
  const TemporaryDirectory dir;
  CHECK_FAILS(train(loss, 2, 1, dir), ErrorKind::kFailedPrecondition, "the loss of minimize of SGD");
  CHECK_FAILS(train(slope, 2, 1, dir), ErrorKind::kFailedPrecondition, "the gradient of variable 'c'");
}

}  // namespace
}  // namespace belfry
