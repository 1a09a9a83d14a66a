#include "export/torchscript_writer.h"

#include <torch/torch.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "loaded_model.h"
#include "random_features.h"
#include "tests/support/check_fails.h"
#include "tests/testing.h"
#include "traced_models.h"

using namespace belfry;
using namespace belfry::testing;

namespace {

nlohmann::json description_of(const std::string& bytes) {
  std::istringstream in(bytes);
  torch::jit::ExtraFilesMap files{{kSignatureFile, ""}};
  torch::jit::load(in, std::nullopt, files);
  return nlohmann::json::parse(files.at(kSignatureFile));
}

std::vector<TracedSignature> two_signatures() {
  return {{"scores", ExportKind::kClassification, {{"scores", 1}}, {"a", "b", "c"}},
          {kServingDefault, ExportKind::kPredict, {{"probabilities", 1}, {"logits", 0}}}};
}

}  // namespace

TEST_CASE("Weights are attributes named after their variables", "[export][torchscript]") {
  const TraceRequest request = wide_and_deep_request();
  const Trace traced = trace(request);
  const torch::jit::Module module = load(torchscript_bytes(traced, default_signature(traced)));
  CHECK(module.attr("net__hidden__weight").toTensor().equal(request.variables[1].second));
  CHECK(module.hasattr("net__embedding__weight"));
  CHECK_FALSE(module.attr("net__hidden__weight").toTensor().requires_grad());
}

TEST_CASE("Every signature is a method that returns its outputs in order", "[export][torchscript]") {
  const TraceRequest request = wide_and_deep_request();
  torch::jit::Module module = load(torchscript_bytes(trace(request), two_signatures()));
  const Features features = random_features(request.receiver, 6, 1);
  const torch::NoGradGuard no_grad;
  const TensorDict wanted = request.function(features);
  const auto defaults = call(module, "forward", features);
  REQUIRE(defaults.size() == 2);
  CHECK(at::allclose(defaults[0], wanted["probabilities"], 1e-5, 1e-6));
  CHECK(at::allclose(defaults[1], wanted["logits"], 1e-5, 1e-6));
  const auto scores = call(module, "scores", features);
  REQUIRE(scores.size() == 1);
  CHECK(at::allclose(scores[0], wanted["probabilities"], 1e-5, 1e-6));
}

TEST_CASE("Inputs may be given by name", "[export][torchscript]") {
  const TraceRequest request = wide_and_deep_request();
  torch::jit::Module module = load(torchscript_bytes(trace(request), two_signatures()));
  std::unordered_map<std::string, c10::IValue> named;
  for (const auto& [name, value] : random_features(request.receiver, 2, 1)) named[name] = value.tensor();
  CHECK(module.get_method("scores")({}, named).toTensor().sizes() == at::IntArrayRef({2, 3}));
}

TEST_CASE("The file describes its signatures and variables", "[export][torchscript]") {
  const Trace traced = trace(wide_and_deep_request());
  const nlohmann::json json = description_of(torchscript_bytes(traced, two_signatures()));
  CHECK(json["format"] == 1);
  CHECK_FALSE(json["belfry_version"].get<std::string>().empty());
  CHECK(json["torch_version"] == TORCH_VERSION);
  const auto& scores = json["signatures"]["scores"];
  CHECK(scores["method"] == "scores");
  CHECK(scores["kind"] == "classification");
  CHECK(scores["method_name"] == "tensorflow/serving/predict");
  CHECK(scores["class_names"] == nlohmann::json({"a", "b", "c"}));
  const auto& served = json["signatures"]["serving_default"];
  CHECK(served["method"] == "forward");
  CHECK(served["inputs"][1] ==
        nlohmann::json({{"name", "ids"}, {"argument", "ids"}, {"dtype", "int64"}, {"shape", {-1}}}));
  CHECK(served["inputs"][2]["dtype"] == "bool");
  CHECK(served["outputs"][1] == nlohmann::json({{"name", "logits"}, {"dtype", "float32"}, {"shape", {-1, 3}}}));
  CHECK(json["variables"].size() == 5);
  CHECK(json["variables"][1]["name"] == "net/hidden/weight");
  CHECK(json["variables"][1]["attribute"] == "net__hidden__weight");
  CHECK(json["variables"][1]["shape"] == nlohmann::json({8, 9}));
}

TEST_CASE("The same model gives the same bytes", "[export][torchscript]") {
  const TraceRequest request = wide_and_deep_request();
  CHECK(torchscript_bytes(trace(request), two_signatures()) == torchscript_bytes(trace(request), two_signatures()));
}

TEST_CASE("Names that TorchScript cannot hold are served mangled", "[export][torchscript]") {
  const at::Tensor weight = torch::randn({2});
  const auto function = [weight](const Features& features) {
    return TensorDict{{"the sum", features["0.for"] + weight + features["class"]}};
  };
  const TraceRequest request{function,
                             ServingInputReceiver(Specs{{"0.for", {.shape = {-1, 2}}}, {"class", {.shape = {-1, 2}}}}),
                             {{"training", weight}}};
  check_round_trip(request);
  const Trace traced = trace(request);
  const nlohmann::json json = description_of(torchscript_bytes(traced, default_signature(traced)));
  CHECK(json["signatures"]["serving_default"]["inputs"][0]["argument"] == "_x30_x2Efor");
}

TEST_CASE("A variable that is a part of a large buffer brings only itself", "[export][torchscript]") {
  const at::Tensor buffer = torch::zeros({1000000});
  const at::Tensor weight = buffer.narrow(0, 10, 4);
  const Trace traced =
      trace(request_of([weight](const at::Tensor& x) { return x * weight; }, {.shape = {-1, 4}}, {{"w", weight}}));
  REQUIRE(traced.variables.size() == 1);
  CHECK(torchscript_bytes(traced, default_signature(traced)).size() < 100000);
}

TEST_CASE("Signatures that cannot be written are refused", "[export][torchscript]") {
  const Trace traced = trace(request_of([](const at::Tensor& x) { return x * 2; }));
  const auto write = [&](std::vector<TracedSignature> signatures) { return torchscript_bytes(traced, signatures); };
  const TracedSignature fine{kServingDefault, ExportKind::kPredict, {{"y", 0}}};
  const ErrorKind kind = ErrorKind::kInvalidArgument;
  CHECK_FAILS(write({}), kind, "no signature serving_default");
  CHECK_FAILS(write({fine, fine}), kind, "'serving_default' comes twice");
  CHECK_FAILS(write({{kServingDefault, ExportKind::kPredict, {}}}), kind, "no outputs");
  CHECK_FAILS(write({{kServingDefault, ExportKind::kPredict, {{"y", 0}, {"y", 0}}}}), kind, "'y' comes twice");
  CHECK_FAILS(write({{kServingDefault, ExportKind::kPredict, {{"y", 3}}}}), kind, "number 3 of a trace that has 1");
}
