// Cases of tf.contrib's own tests of replicate_model_fn that no other file here shows. The others carry their names
// too: ReplicateModel, GetLossTowers, SplitBatch, TrainSpec, EvalSpec, PredictSpec, ReduceMetricVariables,
// MergeExportOutputs, ComputeSum, ConcatTensorDicts, SyncReplicas, DNNClassifierIntegration.
#include "tests/testing.h"
// testing.h has to come first

#include "distribute/device.h"
#include "tests/towers/abs_model.h"
#include "towers/internal/merge_exports.h"
#include "towers/internal/merge_specs.h"

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

}  // namespace
}  // namespace belfry
