#include "export/saved_model_export.h"

#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include "belfry/core/onnx.pb.h"
#include "export/name_mangling.h"
#include "loaded_model.h"
#include "random_features.h"
#include "receiver_models.h"
#include "tests/support/check_fails.h"
#include "tests/support/fault_injecting_file_system.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"
#include "traced_models.h"

using namespace belfry;
using namespace belfry::testing;

namespace {

ExportRequest classifier_request() {
  const TraceRequest traced = wide_and_deep_request();
  const auto function = [traced](const Features& features) -> ExportOutputs {
    const TensorDict outputs = traced.function(features);
    const at::Tensor ids = outputs["logits"].argmax(1, /*keepdim=*/true);
    return {{"classes", ClassificationOutput{outputs["probabilities"], ids, {"low", "mid", "high"}}},
            {kServingDefault, PredictOutput{outputs}},
            {"value", RegressionOutput{outputs["logits"].sum(1)}}};
  };
  return {.function = function, .receiver = traced.receiver, .variables = traced.variables};
}

std::string model_bytes(const ExportResult& result) {
  return read_file(posix_file_system(), result.path + "/torchscript/model.pt");
}

}  // namespace

TEST_CASE("An exported model serves every signature", "[export][E12][E67][E68][E69]") {
  TemporaryDirectory folder;
  const ExportRequest request = classifier_request();
  const ExportResult result = write_saved_model(folder.path(), request, posix_file_system());
  CHECK(result.path.starts_with(folder.path() + "/"));
  CHECK((result.formats == std::vector<ExportFormat>{ExportFormat::kTorchScript, ExportFormat::kSavedModel}));
  CHECK(result.refusals.empty());
  CHECK(posix_file_system().exists(result.path + "/saved_model.pb"));
  CHECK(result.warnings.empty());
  torch::jit::Module module = load(model_bytes(result));
  const Features features = random_features(request.receiver, 6, 3);
  const torch::NoGradGuard no_grad;
  const ExportOutputs wanted = request.function(features);
  for (const auto& [name, output] : wanted) {
    const auto served = call(module, name == kServingDefault ? "forward" : name, features);
    const auto tensors = output.tensors();
    REQUIRE(served.size() == tensors.size());
    for (size_t i = 0; i < served.size(); ++i) CHECK(at::allclose(served[i], tensors[i].tensor, 1e-5, 1e-6));
  }
}

TEST_CASE("Class names are written beside the ids", "[export][E67]") {
  TemporaryDirectory folder;
  const ExportResult result = write_saved_model(folder.path(), classifier_request(), posix_file_system());
  std::istringstream in(model_bytes(result));
  torch::jit::ExtraFilesMap files{{"belfry_signature.json", ""}};
  torch::jit::load(in, std::nullopt, files);
  const auto json = nlohmann::json::parse(files["belfry_signature.json"])["signatures"];
  const nlohmann::json names = {"low", "mid", "high"};
  CHECK(json["classes"]["class_names"] == names);
  CHECK(json["classes"]["outputs"][1]["name"] == "classes");
  CHECK(json["classes"]["outputs"][1]["vocabulary"] == names);
  CHECK(json["value"]["outputs"][0]["name"] == "outputs");
  CHECK(json["value"]["kind"] == "regression");
}

TEST_CASE("A lone output is the default signature too", "[export][E24]") {
  TemporaryDirectory folder;
  const auto function = [](const Features& features) {
    return ExportOutputs{{"double", PredictOutput{features["feature"] * 2}}};
  };
  const ExportRequest request{.function = function, .receiver = ServingInputReceiver(TensorSpec{.shape = {-1, 2}})};
  torch::jit::Module module = load(model_bytes(write_saved_model(folder.path(), request, posix_file_system())));
  const at::Tensor x = torch::rand({3, 2});
  CHECK(call(module, "forward", x)[0].equal(x * 2));
  CHECK(call(module, mangle_name("double"), x)[0].equal(x * 2));
}

TEST_CASE("A model that cannot be exported leaves no folder", "[export][E12]") {
  TemporaryDirectory folder;
  const std::string base = folder.file("exports");
  ExportRequest request = classifier_request();
  request.function = [](const Features& features) {
    return ExportOutputs{{"y", PredictOutput{features["dense"] * (1.0 / features["dense"].size(0))}}};
  };
  CHECK_FAILS(write_saved_model(base, request, posix_file_system()), ErrorKind::kUnimplemented, "item()");
  request.function = [](const Features&) { return ExportOutputs(); };
  CHECK_FAILS(write_saved_model(base, request, posix_file_system()), ErrorKind::kInvalidArgument, "export outputs");
  request = classifier_request();
  request.formats = {};
  CHECK_FAILS(write_saved_model(base, request, posix_file_system()), ErrorKind::kInvalidArgument, "no format");
  request = classifier_request();
  request.assets_extra = {{"a", folder.file("absent")}};
  CHECK_FAILS(write_saved_model(base, request, posix_file_system()), ErrorKind::kNotFound, "absent");
  CHECK_FALSE(posix_file_system().exists(base));
}

TEST_CASE("A format that cannot express the model is left out and the others are written", "[export][refusal]") {
  TemporaryDirectory folder;
  ExportRequest request = classifier_request();
  request.function = [](const Features& features) {
    return ExportOutputs{{"y", PredictOutput{features["dense"].sinh() + features["dense"].cosh()}}};
  };
  const ExportResult result = write_saved_model(folder.path(), request, posix_file_system());
  CHECK((result.formats == std::vector<ExportFormat>{ExportFormat::kTorchScript}));
  REQUIRE(result.refusals.size() == 1);
  CHECK(result.refusals[0].format == ExportFormat::kSavedModel);
  REQUIRE(result.refusals[0].problems.size() == 2);
  CHECK_THAT(result.refusals[0].problems[0], Catch::Contains("aten::cosh"));
  CHECK_THAT(result.refusals[0].problems[1], Catch::Contains("aten::sinh"));
  CHECK_FALSE(posix_file_system().exists(result.path + "/saved_model.pb"));
  CHECK(posix_file_system().exists(result.path + "/torchscript/model.pt"));
}

TEST_CASE("Formats are chosen, and where none is left the export fails with all reasons", "[export][refusal]") {
  TemporaryDirectory folder;
  ExportRequest request = classifier_request();
  request.formats = {ExportFormat::kSavedModel};
  const ExportResult result = write_saved_model(folder.path(), request, posix_file_system());
  CHECK((result.formats == std::vector<ExportFormat>{ExportFormat::kSavedModel}));
  CHECK_FALSE(posix_file_system().exists(result.path + "/torchscript"));
  const std::string base = folder.file("none");
  request.function = [](const Features& features) {
    return ExportOutputs{{"y", PredictOutput{features["dense"].sinh()}}};
  };
  CHECK_FAILS(write_saved_model(base, request, posix_file_system()), ErrorKind::kUnimplemented,
              "SavedModel:\n  aten::sinh: ");
  CHECK_FALSE(posix_file_system().exists(base));
}

TEST_CASE("ONNX is written when it is asked for", "[export][onnx]") {
  TemporaryDirectory folder;
  ExportRequest request = classifier_request();
  CHECK_FALSE(
      posix_file_system().exists(write_saved_model(folder.path(), request, posix_file_system()).path + "/onnx"));
  request.formats = {ExportFormat::kOnnx};
  const ExportResult whole = write_saved_model(folder.path(), request, posix_file_system());
  CHECK((whole.formats == std::vector<ExportFormat>{ExportFormat::kOnnx}));
  CHECK(whole.warnings.empty());
  CHECK(posix_file_system().list(whole.path + "/onnx") == std::vector<std::string>{"model.onnx"});
  request.onnx_inline_bytes_limit = 100;
  const ExportResult parted = write_saved_model(folder.path(), request, posix_file_system());
  REQUIRE(parted.warnings.size() == 1);
  CHECK_THAT(parted.warnings[0], Catch::Contains("onnx/model.onnx.data") && Catch::Contains("beside"));
  CHECK(posix_file_system().list(parted.path + "/onnx").size() == 2);
  request.function = [](const Features& features) {
    return ExportOutputs{{"y", PredictOutput{features["dense"].sinh()}}};
  };
  CHECK_FAILS(write_saved_model(folder.path(), request, posix_file_system()), ErrorKind::kUnimplemented,
              "ONNX:\n  aten::sinh: ");
}

TEST_CASE("Behind a receiver of strings an ONNX model takes the features", "[export][onnx]") {
  TemporaryDirectory folder;
  ExportRequest request = raw_strings_model().request;
  request.formats = {ExportFormat::kOnnx};
  const ExportResult result = write_saved_model(folder.path(), request, posix_file_system());
  REQUIRE(result.warnings.size() == 1);
  CHECK_THAT(result.warnings[0], Catch::Contains("takes the features that the receiver makes"));
  proto::onnx::ModelProto model;
  REQUIRE(model.ParseFromString(read_file(posix_file_system(), result.path + "/onnx/model.onnx")));
  std::vector<std::string> inputs;
  for (const auto& input : model.graph().input()) inputs.push_back(input.name());
  std::vector<std::string> features;
  for (const ServingInput& input : request.receiver.inputs()) features.push_back(input.name);
  CHECK(inputs == features);
  REQUIRE(model.metadata_props_size() == 2);
  CHECK(model.metadata_props(1).key() == "belfry_receiver");
  CHECK_THAT(model.metadata_props(1).value(), Catch::Contains("vocabulary_lookup"));
}

TEST_CASE("A full disk leaves no export", "[export][E12]") {
  TemporaryDirectory folder;
  FaultInjectingFileSystem files(posix_file_system());
  files.limit_space(1000);
  CHECK_FAILS(write_saved_model(folder.path(), classifier_request(), files), ErrorKind::kIo, "model.pt");
  CHECK(files.list(folder.path()).empty());
  files.revive();
  CHECK(files.exists(write_saved_model(folder.path(), classifier_request(), files).path + "/torchscript/model.pt"));
}

TEST_CASE("Outputs that are not rows are exported with a warning", "[export]") {
  TemporaryDirectory folder;
  ExportRequest request = classifier_request();
  request.function = [](const Features& features) {
    return ExportOutputs{{"m", PredictOutput{features["dense"].mean()}}};
  };
  const ExportResult result = write_saved_model(folder.path(), request, posix_file_system());
  REQUIRE(result.warnings.size() == 2);
  CHECK_THAT(result.warnings[0], Catch::Contains("'m/output'"));
}
