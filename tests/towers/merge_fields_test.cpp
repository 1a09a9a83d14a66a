// Every field of a spec over towers, in every mode: what tf.contrib dropped or took from one tower alone.
#include "tests/testing.h"
// testing.h has to come first

#include <source_location>

#include "estimator/metrics/means.h"
#include "estimator/session_run_hook.h"
#include "tests/towers/abs_model.h"
#include "estimator/internal/merge_specs.h"

namespace belfry::internal {
namespace {

using testing::column;
using testing::doubles;

constexpr ModeKeys kModes[] = {ModeKeys::kTrain, ModeKeys::kEval, ModeKeys::kPredict};

at::Tensor loss_of(double value) { return at::full({}, value, at::kDouble); }

EstimatorSpec spec_for(ModeKeys mode, SpecExtras extras = {}, double loss = 1) {
  if (mode == ModeKeys::kTrain) return EstimatorSpec::train(loss_of(loss), TrainOp(), std::move(extras));
  EstimatorSpec spec = EstimatorSpec::eval(loss_of(loss), extras.eval_metric_ops, extras);
  spec.mode = mode;
  if (spec.predictions.empty()) spec.predictions = {{"p", column({0})}};
  return spec;
}

EstimatorSpec merged(EstimatorSpec first, EstimatorSpec second) {
  return merge_specs({{std::move(first), {}, 1}, {std::move(second), {}, 1}});
}

SpecExtras with_hooks(Hooks& hooks) {
  struct Hook : SessionRunHook {};
  for (int i = 0; i < 4; ++i) hooks.push_back(std::make_shared<Hook>());
  return {.training_hooks = {hooks[0]},
          .training_chief_hooks = {hooks[1]},
          .evaluation_hooks = {hooks[2]},
          .prediction_hooks = {hooks[3]}};
}

// The original takes them from the last tower in TRAIN, because some of its hooks wait for the last tower's apply.
TEST_CASE("merge_specs takes the hooks of every kind from tower 0 in every mode, in TRAIN too",
          "[towers][merge][R15][R19]") {
  for (const ModeKeys mode : kModes) {
    INFO(to_string(mode));
    Hooks first;
    Hooks second;
    const EstimatorSpec spec = merged(spec_for(mode, with_hooks(first)), spec_for(mode, with_hooks(second)));
    CHECK(spec.training_hooks == Hooks{first[0]});
    CHECK(spec.training_chief_hooks == Hooks{first[1]});
    CHECK(spec.evaluation_hooks == Hooks{first[2]});
    CHECK(spec.prediction_hooks == Hooks{first[3]});
    CHECK(spec.mode == mode);
  }
}

TEST_CASE("merge_specs refuses hooks that tower 0 has not, which would be dropped", "[towers][merge][R15][R19]") {
  Hooks hooks;
  const SpecExtras all = with_hooks(hooks);
  const std::pair<Hooks SpecExtras::*, std::string> fields[] = {
      {&SpecExtras::training_hooks, "training_hooks"},
      {&SpecExtras::training_chief_hooks, "training_chief_hooks"},
      {&SpecExtras::evaluation_hooks, "evaluation_hooks"},
      {&SpecExtras::prediction_hooks, "prediction_hooks"}};
  for (const ModeKeys mode : kModes) {
    for (const auto& [field, name] : fields) {
      CAPTURE(to_string(mode), name);
      SpecExtras one;
      one.*field = all.*field;
      CHECK_FAILS(merged(spec_for(mode), spec_for(mode, one)), ErrorKind::kFailedPrecondition,
                  "tower 1 has 1 " + name + " and tower 0 has 0 " + name);
      CHECK_NOTHROW(merged(spec_for(mode, one), spec_for(mode)));  // made in tower 0 alone
    }
  }
}

TEST_CASE("TrainSpec: that train op is kept, beside the added losses and all predictions",
          "[towers][merge][R10][R15]") {
  const GradientDescent optimizer({.learning_rate = 1.0});
  std::vector<TowerResult> towers;
  std::vector<std::shared_ptr<PendingUpdate>> updates;
  for (const double loss : {2.0, 4.0, 6.0}) {
    updates.push_back(std::make_shared<PendingUpdate>(optimizer, "minimize", std::source_location::current()));
    const SpecExtras extras{.predictions = {{"p", doubles({loss})}}};
    towers.push_back({EstimatorSpec::train(loss_of(loss), TrainOp(updates.back()), extras), {}, 1});
  }
  const EstimatorSpec spec = merge_specs(towers);
  CHECK(spec.loss.item<double>() == 12);
  REQUIRE(spec.train_op.has_value());
  CHECK(spec.train_op->updates() == std::vector{updates[0]});
  CHECK(at::equal(spec.predictions["p"], doubles({2, 4, 6})));
}

TEST_CASE("merge_specs adds up the weighted losses in every mode, in PREDICT too", "[towers][merge][R10][R21]") {
  for (const ModeKeys mode : kModes) {
    INFO(to_string(mode));
    std::vector<TowerResult> towers;
    for (const double loss : {9.0, 18.0}) towers.push_back({spec_for(mode, {}, loss), {.contribution = 0.5}, 1});
    const EstimatorSpec spec = merge_specs(towers);
    CHECK(spec.loss.item<double>() == 13.5);
    REQUIRE(spec.tower_losses.size() == 2);
    CHECK(spec.tower_losses[1].item<double>() == 18);
  }
}

TEST_CASE("merge_specs merges metrics in every mode", "[towers][merge][R16]") {
  for (const ModeKeys mode : kModes) {
    INFO(to_string(mode));
    const auto tower = [&](double value) {
      return spec_for(mode, {.eval_metric_ops = {{"mean", metrics::mean(doubles({value}))}}});
    };
    CHECK(testing::metric_value(merged(tower(1), tower(4)), "mean") == 2.5);
  }
}

TEST_CASE("merge_specs concatenates predictions and export outputs in every mode", "[towers][merge][R17][R18][R20]") {
  for (const ModeKeys mode : kModes) {
    INFO(to_string(mode));
    const auto tower = [&](double value) {
      const ExportOutput output = RegressionOutput{column({value})};
      return spec_for(mode, {.predictions = {{"p", column({value})}}, .export_outputs = {{"out", output}}});
    };
    const EstimatorSpec spec = merged(tower(1), tower(2));
    CHECK(at::equal(spec.predictions["p"], column({1, 2})));
    REQUIRE(spec.export_outputs.find("out") != nullptr);
    CHECK(at::equal(std::get<RegressionOutput>(spec.export_outputs.find("out")->value()).value, column({1, 2})));
  }
}

TEST_CASE("merge_specs concatenates predictions that are a lone tensor, which tf.contrib could not",
          "[towers][merge][R17]") {
  const auto tower = [](double value) { return EstimatorSpec::predict(column({value, value + 1})); };
  const EstimatorSpec spec = merged(tower(1), tower(3));
  CHECK(at::equal(spec.predictions.tensor(), column({1, 2, 3, 4})));
  CHECK(spec.predictions.names() == std::vector<std::string>{""});
}

// A tensor of the device "meta" has no memory, which is enough to see where things are brought.
TEST_CASE("PredictSpec: predictions of towers on several devices come together on tower 0's", "[towers][merge][R17]") {
  const auto on_meta = at::empty({2, 1}, at::TensorOptions(at::kDouble).device(at::kMeta));
  const EstimatorSpec spec =
      merged(EstimatorSpec::predict({{"p", on_meta}}), EstimatorSpec::predict({{"p", column({1})}}));
  CHECK(spec.predictions["p"].device() == at::Device(at::kMeta));
  CHECK(spec.predictions["p"].sizes() == at::IntArrayRef{3, 1});
}

// --- States of metrics ---

struct AnyTrue : MetricFunction {
  std::string name() const override { return "any_true"; }
  States merge(const States& a, const States& b) const override { return {at::logical_or(a[0], b[0])}; }
  at::Tensor result(const States& states) const override { return states[0]; }
};

TEST_CASE("merge_specs merges a boolean state as its metric says, where tf.contrib failed", "[towers][merge][R16]") {
  const auto tower = [](bool value) {
    const Metric metric(std::make_shared<AnyTrue>(), {at::scalar_tensor(value, at::kBool)});
    return spec_for(ModeKeys::kEval, {.eval_metric_ops = {{"any", metric}}});
  };
  for (const bool first : {false, true}) {
    for (const bool second : {false, true}) {
      const EstimatorSpec spec = merged(tower(first), tower(second));
      CHECK(spec.eval_metric_ops[0].second.result().item<bool>() == (first || second));
    }
  }
}

// Any states, added up.
struct Added : MetricFunction {
  std::string name() const override { return "added"; }
  at::Tensor result(const States& states) const override { return states.back(); }
};

TowerResult with_states(double k) {
  const Metric metric(std::make_shared<Added>(), {loss_of(1.3 * k), loss_of(2.3 * k), doubles({3.3, 3.5, 3.7}) * k});
  return {spec_for(ModeKeys::kEval, {.eval_metric_ops = {{"m", metric}}}), LossPolicy(), 1};
}

TEST_CASE("ReduceMetricVariables: a single tower's states stay as they are", "[towers][merge][R16]") {
  const EstimatorSpec spec = merge_specs({with_states(1)});
  const Metric::States& states = spec.eval_metric_ops[0].second.states();
  CHECK(states[0].item<double>() == 1.3);
  CHECK(states[1].item<double>() == 2.3);
  CHECK(at::equal(states[2], doubles({3.3, 3.5, 3.7})));
}

TEST_CASE("ReduceMetricVariables: idempotent, merging 20 times gives the same numbers", "[towers][merge][R16]") {
  const std::vector<TowerResult> towers{with_states(1), with_states(2), with_states(3)};
  for (int i = 0; i < 20; ++i) {
    const EstimatorSpec spec = merge_specs(towers);
    const Metric::States& states = spec.eval_metric_ops[0].second.states();
    CHECK(states[0].item<double>() == Approx(7.8));
    CHECK(states[1].item<double>() == Approx(13.8));
    CHECK(at::allclose(states[2], doubles({19.8, 21, 22.2})));
  }
}

}  // namespace
}  // namespace belfry::internal
