// Cases of tf.contrib's own tests of replicate_model_fn that no other file here shows. The others carry their names
// too: ReplicateModel, GetLossTowers, SplitBatch, TrainSpec, EvalSpec, PredictSpec, ReduceMetricVariables,
// MergeExportOutputs, ComputeSum, ConcatTensorDicts, SyncReplicas, DNNClassifierIntegration.
#include "tests/testing.h"
// testing.h has to come first

#include <map>

#include "distribute/device.h"
#include "tests/towers/abs_model.h"
#include "estimator/internal/merge_exports.h"
#include "estimator/internal/merge_specs.h"

namespace belfry {
namespace {

using testing::abs_model;
using testing::column;
using testing::doubles;
using testing::metric_value;
using testing::TowerRunner;
using testing::towers;

const at::Tensor kFeatures = column({.01, .002});
const at::Tensor kLabels = column({.01, .02});

TEST_CASE("ReplicateModel: train, single tower", "[towers][replicate][R7]") {
  TowerRunner runner(towers(abs_model, 1));
  CHECK(runner.train(column({1, 2}), column({1, 2})) == 27);
  CHECK(runner.number("c") == 7);
}

TEST_CASE("ReplicateModel: eval, single tower", "[towers][replicate][R7][R16]") {
  TowerRunner runner(towers(abs_model, 1));
  const EstimatorSpec spec = runner.eval(kFeatures, kLabels);
  CHECK(metric_value(spec, "accuracy") == Approx(0.5));
  CHECK(metric_value(spec, "auc") == Approx(0).margin(1e-6));
  CHECK(spec.loss.item<double>() == Approx(0.09));
}

TEST_CASE("ReplicateModel: predict, single tower", "[towers][replicate][R7][R17]") {
  TowerRunner runner(towers(abs_model, 1));
  CHECK(at::allclose(runner.predict(kFeatures).predictions["probabilities"], column({.1, .02})));
}

TEST_CASE("EvalSpec: single tower", "[towers][merge][R16]") {
  const at::Tensor labels = doubles({.1, .2, .3, .6});
  const at::Tensor predicted = doubles({.1, .2, .3, .8});
  const EstimatorSpec spec = EstimatorSpec::eval(
      at::full({}, 5, at::kDouble),
      {{"accuracy", metrics::accuracy(labels, predicted)}, {"auc", metrics::auc(labels.ne(0), predicted)}});
  const EstimatorSpec merged = internal::merge_specs({{spec, LossPolicy(), 4}});
  CHECK(merged.loss.item<double>() == 5);
  CHECK(metric_value(merged, "accuracy") == Approx(0.75));
  CHECK(metric_value(merged, "auc") == Approx(0).margin(1e-6));
}

TEST_CASE("ConcatTensorDicts: entry by entry, rows as they come", "[towers][merge][R17]") {
  const Predictions merged = internal::merge_predictions({{{"a", doubles({1, 2})}, {"b", doubles({11})}},
                                                          {{"a", doubles({3})}, {"b", doubles({12, 13})}},
                                                          {{"a", at::empty({0}, at::kDouble)}, {"b", doubles({14})}}});
  CHECK(at::equal(merged["a"], doubles({1, 2, 3})));
  CHECK(at::equal(merged["b"], doubles({11, 12, 13, 14})));
}

TEST_CASE("ConcatTensorDicts: an entry that the first tower alone has is an error here", "[towers][merge][R17]") {
  CHECK_FAILS(internal::merge_predictions({{{"a", doubles({1})}, {"c", doubles({21})}}, {{"a", doubles({3})}}}),
              ErrorKind::kFailedPrecondition, "tower 1 has nothing as 'c'");
}

TEST_CASE("GetLocalDevices: CPU", "[towers][R4]") {
  CHECK_FALSE(default_devices().empty());
  CHECK(parse_device("CPU").device.is_cpu());
}

TEST_CASE("GetLocalDevices: a made-up XPU is an error here, where the original finds none", "[towers][R4]") {
  CHECK_FAILS(parse_device("XPU"), ErrorKind::kInvalidArgument, "XPU");
}

TEST_CASE("GetLocalDevices: GPUs where there are some", "[towers][R4]") {
  const bool gpus = at::globalContext().hasCUDA();
  for (const std::string& name : default_devices()) CHECK(parse_device(name).device.is_cuda() == gpus);
}

// The original's setter decides by a function of the operation; here it is the option variable_placement.
struct Placed {
  std::map<std::string, std::string> places = {};
  std::vector<at::Device> computed_on = {};
};

// One variable for each name, and the device of a sum over all of them in tower 0.
Placed placed(const std::vector<std::string>& names, const std::vector<std::string>& devices,
              VariablePlacement placement) {
  Placed result;
  const auto model = [&](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    at::Tensor sum = at::zeros({}, at::TensorOptions(at::kDouble).device(ctx.device()));
    for (const std::string& name : names) sum = sum + testing::scalar_variable(ctx, name, 1);
    const at::Tensor loss = testing::abs_loss(features, labels, sum);
    if (ctx.tower_index() == 0) result.computed_on = {ctx.device(), loss.device()};
    return EstimatorSpec::train(loss, TowerOptimizer(GradientDescent()).minimize(loss, ctx));
  };
  TowerRunner runner(replicate_model_fn(ModelFn(model), {.devices = devices, .variable_placement = placement}));
  const at::Tensor rows = at::ones({static_cast<int64_t>(devices.size()), 1}, at::kDouble);
  runner.train(rows, rows);
  for (const std::string& name : names) result.places[name] = runner.store().find(name)->device_name();
  return result;
}

TEST_CASE("LocalDeviceSetter: vars on ps, all other operations on the tower's device", "[towers][R5][R6]") {
  const std::string worker = default_devices().front();  // a GPU where there is one
  const Placed central = placed({"v"}, {worker, worker}, VariablePlacement::kCentral);
  CHECK(parse_device(central.places.at("v")).device.is_cpu());
  CHECK(central.computed_on == std::vector(2, parse_device(worker).device));
}

TEST_CASE("LocalDeviceSetter: round robin placement", "[towers][R5]") {
  const Placed round =
      placed({"a", "b", "c", "d", "e"}, {"cpu:0", "cpu:1", "cpu:3", "cpu:4"}, VariablePlacement::kRoundRobin);
  const std::map<std::string, std::string> expected{
      {"a", "cpu:0"}, {"b", "cpu:1"}, {"c", "cpu:3"}, {"d", "cpu:4"}, {"e", "cpu:0"}};
  CHECK(round.places == expected);
  CHECK(round.computed_on == std::vector(2, at::Device(at::kCPU)));
}

}  // namespace
}  // namespace belfry
