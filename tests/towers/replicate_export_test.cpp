// Export outputs of towers, and exports of a model over towers as others serve them.
#include "tests/testing.h"
// testing.h has to come first

#include <torch/script.h>

#include "estimator/estimator.h"
#include "tests/export/loaded_model.h"
#include "tests/support/temporary_directory.h"
#include "tests/towers/abs_model.h"

namespace belfry {
namespace {

using testing::abs_model;
using testing::column;
using testing::TowerRunner;
using testing::towers;

using Outputs = std::function<ExportOutputs(const at::Tensor& predicted, int tower)>;

// The abs model with export outputs, in every mode.
ModelFn exporting(const Outputs& outputs) {
  return [outputs](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    EstimatorSpec spec = abs_model(features, labels, mode, ctx);
    spec.export_outputs = outputs(features.tensor() * 10, ctx.tower_index());
    return spec;
  };
}

at::Tensor class_of(int tower) { return at::full({1, 1}, 4 + tower, at::kLong); }

EstimatorSpec predicted_with(const Outputs& outputs) {
  TowerRunner runner(towers(exporting(outputs), 2));
  return runner.predict(column({.01, .002}));
}

template <class Kind>
Kind output(const EstimatorSpec& spec, const std::string& name) {
  const ExportOutputs resolved = resolve_export_outputs(spec.export_outputs, spec.predictions);
  REQUIRE(resolved.find(name) != nullptr);
  return std::get<Kind>(resolved.find(name)->value());
}

TEST_CASE("MergeExportOutputs: default signature, made of the concatenated predictions", "[towers][replicate][R18]") {
  const EstimatorSpec spec = predicted_with([](const at::Tensor&, int) { return ExportOutputs(); });
  CHECK(spec.export_outputs.empty());
  const auto merged = output<PredictOutput>(spec, kServingDefault);
  CHECK(at::allclose(merged.outputs["probabilities"], column({.1, .02})));
}

// The original's classes are one string a tower, and it stacks them: of several rows they come out in another shape
// than the scores. Here they are ids, one row for each row.
TEST_CASE("MergeExportOutputs: classification, scores and classes (ids, concatenated)", "[towers][replicate][R18]") {
  const auto merged =
      output<ClassificationOutput>(predicted_with([](const at::Tensor& predicted, int tower) {
                                     return ExportOutputs{{"class", ClassificationOutput{predicted, class_of(tower)}}};
                                   }),
                                   "class");
  CHECK(at::allclose(merged.scores, column({.1, .02})));
  CHECK(at::equal(merged.class_ids, at::tensor({4, 5}, at::kLong).unsqueeze(1)));
}

TEST_CASE("MergeExportOutputs: classification, scores only", "[towers][replicate][R18]") {
  const auto merged = output<ClassificationOutput>(predicted_with([](const at::Tensor& predicted, int) {
                                                     return ExportOutputs{{"class", ClassificationOutput{predicted}}};
                                                   }),
                                                   "class");
  CHECK(at::allclose(merged.scores, column({.1, .02})));
  CHECK_FALSE(merged.class_ids.defined());
}

TEST_CASE("MergeExportOutputs: classification, classes only", "[towers][replicate][R18]") {
  const auto merged = output<ClassificationOutput>(
      predicted_with([](const at::Tensor&, int tower) {
        return ExportOutputs{{"class", ClassificationOutput{.class_ids = class_of(tower)}}};
      }),
      "class");
  CHECK_FALSE(merged.scores.defined());
  CHECK(at::equal(merged.class_ids, at::tensor({4, 5}, at::kLong).unsqueeze(1)));
}

TEST_CASE("MergeExportOutputs: regression", "[towers][replicate][R18]") {
  const auto merged = output<RegressionOutput>(predicted_with([](const at::Tensor& predicted, int) {
                                                 return ExportOutputs{{"value", RegressionOutput{predicted}}};
                                               }),
                                               "value");
  CHECK(at::allclose(merged.value, column({.1, .02})));
}

TEST_CASE("replicate_model_fn: export outputs are those of all rows in training and evaluation, too",
          "[towers][replicate][R18]") {
  const auto outputs = [](const at::Tensor& predicted, int) {
    return ExportOutputs{{"value", RegressionOutput{predicted}}};
  };
  TowerRunner runner(towers(exporting(outputs), 3));
  const at::Tensor x = column({1, 2, 3, 4});
  CHECK(at::equal(output<RegressionOutput>(runner.eval(x, x), "value").value, x * 10));
  CHECK(at::equal(output<RegressionOutput>(runner.train_and_discard(x, x), "value").value, x * 10));
}

// The original exports the split with the model, so that only multiples of N rows can be served.
TEST_CASE("replicate_model_fn: an export serves any number of rows, whatever N is", "[towers][replicate][R18]") {
  for (const TowerWeighting weighting : testing::kWeightings) {
    const testing::TemporaryDirectory directory;
    Estimator estimator(towers(abs_model, 3, LossReduction::kSum, weighting),
                        {.model_dir = directory.path(), .save_summary_steps = 0, .log_step_count_steps = 0});
    const at::Tensor ones = column({1, 1, 1});
    estimator.train([&] { return Dataset::from_tensors({{"x", ones}}, ones).batch(3); });
    const ExportResult exported = estimator.export_saved_model(
        directory.file("exports"),
        build_raw_serving_input_receiver_fn({{"x", {.dtype = at::kDouble, .shape = {-1, 1}}}}));
    torch::jit::Module served = torch::jit::load(exported.path + "/torchscript/model.pt");
    for (const int64_t rows : {1, 2, 3, 4, 6, 7}) {
      INFO(rows << " rows");
      const at::Tensor x = at::arange(rows, at::kDouble).unsqueeze(1);
      const auto outputs = testing::call(served, "forward", {{"x", x}});
      REQUIRE(outputs.size() == 1);
      CHECK(at::equal(outputs[0], x * 7));
      if (weighting == TowerWeighting::kExact) {
        CHECK(at::equal(estimator.predict({{"x", x}})["probabilities"], outputs[0]));
      }
    }
  }
}

}  // namespace
}  // namespace belfry
