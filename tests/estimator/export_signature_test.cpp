// What the signatures of an Estimator's exports take and give.
#include "tests/testing.h"
// testing.h has to come first

#include <ATen/ATen.h>

#include <set>

#include "core/error.h"
#include "estimator/losses/losses.h"
#include "estimator/metrics/means.h"
#include "export/predictor.h"
#include "linear_model.h"
#include "tests/support/check_fails.h"
#include "tests/support/saved_model_file.h"
#include "tests/support/temporary_directory.h"

using namespace belfry;
using namespace belfry::testing;

namespace {

ServingInputReceiverFn receiver() { return build_raw_serving_input_receiver_fn({{"x", {.shape = {-1}}}}); }

// A model of one tensor without a name.
EstimatorSpec bare_model_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  const at::Tensor y = features.tensor().matmul(ctx.variable("w", [] { return at::zeros({2}); }));
  if (mode == ModeKeys::kPredict) return EstimatorSpec::predict({{"y", y}});
  const at::Tensor loss = losses::mean_squared_error(labels.tensor(), y, ctx);
  if (mode == ModeKeys::kEval) return EstimatorSpec::eval(loss);
  return EstimatorSpec::train(loss, descend(loss, ctx));
}

}  // namespace

TEST_CASE("a model of one bare tensor is exported, and asked with one", "[estimator][E12][E63]") {
  const TemporaryDirectory dir;
  const at::Tensor x = at::arange(8, at::kFloat).reshape({4, 2}) / 8;
  Estimator estimator(bare_model_fn, quiet(dir.file("model")));
  estimator.train([&] { return Dataset::from_tensors(x, x.sum(1)).repeat().batch(4); }, {.steps = 20});
  const ExportResult result = estimator.export_saved_model(
      dir.file("exports"), build_raw_serving_input_receiver_fn(TensorSpec{.shape = {-1, 2}}));
  CHECK(result.refusals.empty());

  const Predictor predictor(result.path);
  REQUIRE(predictor.signature().inputs.size() == 1);
  CHECK(predictor.signature().inputs[0].name == "input");
  const at::Tensor wanted = estimator.predict(x)["y"];
  CHECK(wanted.abs().min().item<float>() > 0);
  CHECK(at::allclose(predictor.predict(x)["y"], wanted));
  CHECK(at::allclose(predictor.predict({{"input", x}})["y"], wanted));
  CHECK_FAILS(predictor.predict(at::ones({4, 3})), ErrorKind::kInvalidArgument, "'input'");

  const proto::SavedModel served = read_saved_model(result.path + "/saved_model.pb");
  const auto& inputs = served.meta_graphs(0).signature_def().at(kServingDefault).inputs();
  REQUIRE(inputs.size() == 1);
  CHECK(inputs.contains("input"));
}

TEST_CASE("dicts in predictions are served as NAME/entry", "[estimator][E12][E69]") {
  const TemporaryDirectory dir;
  const auto model_fn = [](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    if (mode != ModeKeys::kPredict) return linear_model_fn(features, labels, mode, ctx);
    const at::Tensor y = linear_output(features, ctx);
    Predictions predictions{{"y", y}};
    predictions.set_nested("powers", {{"square", y.square()}, {"cube", y.pow(3)}});
    return EstimatorSpec::predict(predictions);
  };
  Estimator estimator(model_fn, quiet(dir.file("model")));
  estimator.train(line(), {.steps = 3});
  const std::string path = estimator.export_saved_model(dir.file("exports"), receiver()).path;
  const Features features = line_features(5);
  const TensorDict answer = Predictor(path).predict(features);
  CHECK(answer.size() == 3);
  const TensorDict powers = answer.nested("powers");
  CHECK(at::allclose(powers["square"], answer["y"].square()));
  CHECK(at::allclose(powers["cube"], answer["y"].pow(3)));
  const proto::SavedModel served = read_saved_model(path + "/saved_model.pb");
  CHECK(served.meta_graphs(0).signature_def().at(kServingDefault).outputs().contains("powers/cube"));
}

TEST_CASE("the graph of an evaluation takes features and labels, and names what it gives as TensorFlow does",
          "[estimator][E13][E66][E71]") {
  const TemporaryDirectory dir;
  const auto model_fn = [](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    if (mode != ModeKeys::kEval) return linear_model_fn(features, labels, mode, ctx);
    const at::Tensor y = linear_output(features, ctx);
    const at::Tensor loss = losses::mean_squared_error(labels["target"], y, ctx);
    return EstimatorSpec::eval(loss, {{"mean", metrics::mean(y)}}, {.predictions = {{"y", y}}});
  };
  Estimator estimator(model_fn, quiet(dir.file("model")));
  estimator.train(line(), {.steps = 1});
  const auto supervised = build_supervised_input_receiver_fn({{"x", {.shape = {-1}}}}, {{"target", {.shape = {-1}}}});
  const std::string path =
      estimator.experimental_export_all_saved_models(dir.file("exports"), {{ModeKeys::kEval, supervised}}).path;
  const proto::SavedModel model = read_saved_model(path + "/saved_model.pb");
  REQUIRE(model.meta_graphs_size() == 1);
  CHECK(model.meta_graphs(0).meta_info_def().tags(0) == "eval");
  const proto::SignatureDef& signature = model.meta_graphs(0).signature_def().at("eval");
  const auto names = [](const auto& tensors) {
    std::set<std::string> found;
    for (const auto& [name, tensor] : tensors) found.insert(name);
    return found;
  };
  CHECK(names(signature.inputs()) == std::set<std::string>{"x", "target"});
  CHECK(names(signature.outputs()) ==
        std::set<std::string>{"loss", "predictions/y", "metrics/mean/value", "metrics/mean/update_op"});
}
