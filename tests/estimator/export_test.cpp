#include <torch/nn/modules/batchnorm.h>
#include <torch/script.h>

#include <torch/csrc/autograd/autograd.h>

#include "tests/testing.h"

#include "core/error.h"
#include "data/tensor_input_fn.h"
#include "linear_model.h"
#include "tests/support/check_fails.h"
#include "tests/support/temporary_directory.h"

using namespace belfry;
using namespace belfry::testing;
using Catch::Contains;

namespace {

// The module is told to train, whatever the mode.
EstimatorSpec always_training_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto norm = ctx.module<torch::nn::BatchNorm1d>("norm", 3);
  norm->train();
  const torch::Tensor y = norm(features["x"]);
  if (mode == ModeKeys::kPredict) return EstimatorSpec::predict({{"y", y}});
  const torch::Tensor loss = (y - labels.tensor()).square().mean();
  return EstimatorSpec::train(loss, descend(loss, ctx));
}

ServingInputReceiverFn receiver() { return build_raw_serving_input_receiver_fn({{"x", {.shape = {-1}}}}); }

}  // namespace

TEST_CASE("an export predicts what its Estimator predicts", "[estimator][E12]") {
  const TemporaryDirectory dir;
  RunConfig config = quiet(dir.file("model"));
  config.save_checkpoints_steps = 2;
  Estimator estimator(linear_model_fn, config);
  estimator.train(line(), {.steps = 4});
  const Features features = line_features(7);
  const auto served = [&](const ExportOptions& options) {
    const ExportResult result = estimator.export_saved_model(dir.file("exports"), receiver(), options);
    CHECK(result.path.rfind(dir.file("exports") + "/", 0) == 0);
    torch::jit::Module module = torch::jit::load(result.path + "/torchscript/model.pt");
    const torch::NoGradGuard no_grad;
    return module.forward({features["x"]}).toTuple()->elements()[0].toTensor();
  };
  const bool newest = GENERATE(true, false);
  std::optional<std::string> checkpoint;
  if (!newest) checkpoint = dir.file("model/model.ckpt-2");
  const at::Tensor y = estimator.predict(features, {.checkpoint_path = checkpoint})["y"];
  CHECK(torch::allclose(served({.checkpoint_path = checkpoint}), y));
  CHECK(estimator.train(line(), {.steps = 1}).global_step == 5);
}

TEST_CASE("an export has the formats that it is asked for", "[estimator][E12]") {
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, quiet(dir.file("model")));
  estimator.train(line(), {.steps = 1});
  const ExportResult result =
      estimator.export_saved_model(dir.file("exports"), receiver(), {.formats = {ExportFormat::kOnnx}});
  CHECK((result.formats == std::vector<ExportFormat>{ExportFormat::kOnnx}));
  CHECK(posix_file_system().exists(result.path + "/onnx/model.onnx"));
  CHECK_FALSE(posix_file_system().exists(result.path + "/saved_model.pb"));
}

TEST_CASE("there is no export without a checkpoint or a receiver", "[estimator][E12]") {
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, quiet(dir.file("model")));
  const Failure none = failure([&] { estimator.export_saved_model(dir.file("exports"), receiver()); });
  CHECK(none.kind == ErrorKind::kFailedPrecondition);
  CHECK_THAT(none.message, Contains("no checkpoint") && Contains(dir.file("model")));
  estimator.train(line(), {.steps = 1});
  CHECK_THROWS_WITH(estimator.export_saved_model(dir.file("exports"), nullptr), Contains("serving_input_receiver_fn"));
  CHECK_FALSE(posix_file_system().exists(dir.file("exports")));
}

TEST_CASE("a module in training mode is refused by what to do, not by what fails in it", "[estimator][E12]") {
  const TemporaryDirectory dir;
  Estimator estimator(always_training_fn, quiet(dir.file("model")));
  estimator.train(
      tensor_input_fn({{"x", torch::randn({8, 3})}}, torch::randn({8, 3}), {.batch_size = 4, .shuffle = false}));
  {
    const CapturedLog log;
    estimator.predict({{"x", torch::randn({8, 3})}});
    CHECK(log.count(LogLevel::kWarning, "module 'norm' is in training mode") == 1);
  }
  const auto wide = build_raw_serving_input_receiver_fn({{"x", {.shape = {-1, 3}}}});
  const Failure refused = failure([&] { estimator.export_saved_model(dir.file("exports"), wide); });
  CHECK(refused.kind == ErrorKind::kFailedPrecondition);
  CHECK_THAT(refused.message, Contains("training mode (call eval())") && Contains("norm"));
}

TEST_CASE("a variable that the checkpoint lacks is not exported with its initial value", "[estimator][E12]") {
  const TemporaryDirectory dir;
  bool asks_for_more = false;
  const auto model_fn = [&](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    EstimatorSpec spec = linear_model_fn(features, labels, mode, ctx);
    if (!asks_for_more || mode != ModeKeys::kPredict) return spec;
    return EstimatorSpec::predict(spec.predictions["y"] + ctx.variable("added/c", [] { return torch::ones({1}); }));
  };
  Estimator estimator(model_fn, quiet(dir.file("model")));
  estimator.train(line(), {.steps = 2});
  asks_for_more = true;
  CHECK(estimator.predict(line_features(2)).rows() == 2);  // with a warning
  const Failure found = failure([&] { estimator.export_saved_model(dir.file("exports"), receiver()); });
  CHECK(found.kind == ErrorKind::kInvalidArgument);
  CHECK_THAT(found.message, Contains("added/c") && Contains(dir.file("model/model.ckpt-2")));
  CHECK_FALSE(posix_file_system().exists(dir.file("exports")));
  asks_for_more = false;
  CHECK_FALSE(estimator.export_saved_model(dir.file("exports"), receiver()).path.empty());
}

TEST_CASE("PREDICT and EVAL are exported as graphs of their own, over the same variables", "[estimator][E13][E71]") {
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, quiet(dir.file("model")));
  estimator.train(line(), {.steps = 3});
  const auto supervised = build_supervised_input_receiver_fn({{"x", {.shape = {-1}}}}, {{"", {.shape = {-1}}}});
  const ExportResult result = estimator.experimental_export_all_saved_models(
      dir.file("exports"), {{ModeKeys::kPredict, receiver()}, {ModeKeys::kEval, supervised}});
  CHECK(result.refusals.empty());
  CHECK(result.formats.size() == 2);
  for (const char* file : {"saved_model.pb", "variables/variables.index", "torchscript/model.pt"}) {
    INFO(file);
    CHECK(posix_file_system().exists(result.path + "/" + file));
  }
  // Without PREDICT nothing can serve.
  const ExportResult eval =
      estimator.experimental_export_all_saved_models(dir.file("exports"), {{ModeKeys::kEval, supervised}});
  CHECK((eval.formats == std::vector<ExportFormat>{ExportFormat::kSavedModel}));
  CHECK((eval.refusals.at(0).format == ExportFormat::kTorchScript));
}

TEST_CASE("Modes that no graph can have are refused", "[estimator][E13][E66]") {
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, quiet(dir.file("model")));
  estimator.train(line(), {.steps = 1});
  const auto exports = [&](const InputReceiverFnMap& receivers) {
    estimator.experimental_export_all_saved_models(dir.file("exports"), receivers);
  };
  CHECK_FAILS(exports({}), ErrorKind::kInvalidArgument, "no mode");
  CHECK_FAILS(exports({{ModeKeys::kTrain, receiver()}}), ErrorKind::kUnimplemented, "TRAIN");
  CHECK_FAILS(exports({{ModeKeys::kEval, {}}}), ErrorKind::kInvalidArgument, "no serving_input_receiver_fn");
  CHECK_FAILS(build_supervised_input_receiver_fn({{"x", {}}}, {{"x", {}}}), ErrorKind::kAlreadyExists, "'x'");
  CHECK_FAILS(build_supervised_input_receiver_fn({{"x", {}}}, {}), ErrorKind::kInvalidArgument, "no labels");
  CHECK_FALSE(posix_file_system().exists(dir.file("exports")));
}
