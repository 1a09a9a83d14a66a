#include "export/saved_model_export.h"

#include "checkpoint/checkpoint_writer.h"
#include "core/error.h"
#include "export/export_directory.h"
#include "export/internal/import/import_graph.h"
#include "export/internal/traced_model.h"
#include "export/onnx_writer.h"
#include "export/saved_model_writer.h"
#include "export/serving_graph.h"
#include "export/torchscript_writer.h"

namespace belfry {
namespace {

using internal::TracedModel;

// The files of one format by their paths, or why there are none.
struct Encoded {
  ExportFormat format;
  std::vector<std::pair<std::string, std::string>> files = {};
  std::vector<std::string> problems = {};
  NamedTensors variables = {};  // of a SavedModel
  std::vector<std::string> warnings = {};
};

// What is traced once, and written in every format.
struct TracedModels {
  std::optional<TracedModel> serve;
  std::optional<TracedModel> eval;
};

TracedModels trace_models(const ExportRequest& request) {
  require(request.function || request.eval, "export: there is no function to trace");
  TracedModels models;
  if (request.function) models.serve = internal::trace_model(request);
  if (request.eval) models.eval = internal::trace_evaluation(*request.eval, request.variables);
  return models;
}

std::vector<TaggedGraph> tagged_graphs(const TracedModels& models, const ExportRequest& request) {
  std::vector<TaggedGraph> graphs;
  if (models.eval) {
    ServingGraph graph = serving_graph(models.eval->trace, request.eval->receiver, models.eval->signatures);
    for (ServedSignature& signature : graph.signatures) signature.method = ServingMethod::kEval;
    graphs.push_back({"eval", std::move(graph)});
  }
  if (models.serve) {
    graphs.push_back({"serve", serving_graph(models.serve->trace, request.receiver, models.serve->signatures)});
  }
  return graphs;
}

Encoded encode_saved_model(const TracedModels& models, const ExportRequest& request) {
  const SavedModelOptions& options = request.saved_model;
  SavedModel saved = saved_model_bytes(tagged_graphs(models, request), options);
  Encoded encoded{ExportFormat::kSavedModel, {}, std::move(saved.problems), std::move(saved.variables)};
  encoded.files.emplace_back(options.as_text ? "saved_model.pbtxt" : "saved_model.pb", std::move(saved.bytes));
  for (SavedModelAsset& asset : saved.assets) {
    encoded.files.emplace_back("assets/" + asset.name, std::move(asset.bytes));
  }
  return encoded;
}

Encoded encode_onnx(const TracedModel& model, const ExportRequest& request) {
  constexpr const char* kModel = "onnx/model.onnx";
  const Graph* receiver = request.receiver.graph();
  OnnxModel onnx = onnx_bytes(
      internal::import_graph(model.trace), model.signatures,
      {.inline_bytes_limit = request.onnx_inline_bytes_limit, .data_file = "model.onnx.data", .receiver = receiver});
  Encoded encoded{ExportFormat::kOnnx, {{kModel, std::move(onnx.bytes)}}, std::move(onnx.problems)};
  if (receiver) {
    encoded.warnings.push_back(
        concat(kModel, " takes the features that the receiver makes, not its inputs: ONNX has no strings"));
  }
  if (!onnx.data.empty()) {
    const std::string path = concat(kModel, ".data");
    encoded.warnings.push_back(concat("the weights of ", kModel, " are in ", path, ", which has to stay beside it"));
    encoded.files.emplace_back(path, std::move(onnx.data));
  }
  return encoded;
}

Encoded encode(ExportFormat format, const TracedModels& models, const ExportRequest& request) {
  if (format == ExportFormat::kSavedModel) return encode_saved_model(models, request);
  if (!models.serve) return {.format = format, .problems = {"it holds a model that serves, and there is none here"}};
  const TracedModel& model = *models.serve;
  switch (format) {
    case ExportFormat::kTorchScript:
      return {format,
              {{"torchscript/model.pt", torchscript_bytes(model.trace, model.signatures, request.receiver.graph())}}};
    case ExportFormat::kOnnx:
      return encode_onnx(model, request);
    case ExportFormat::kSavedModel:
      break;
  }
  fail(ErrorKind::kInvalidArgument, "export: there is no format of number ", static_cast<int>(format));
}

// What one format does not take is no reason not to write another.
Encoded encode_or_refuse(ExportFormat format, const TracedModels& models, const ExportRequest& request) {
  try {
    return encode(format, models, request);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInternal || request.formats.size() == 1) throw;
    return {.format = format, .problems = {error.what()}};
  }
}

void write_files(FileSystem& files, const std::string& folder, const Encoded& encoded) {
  for (const auto& [path, bytes] : encoded.files) write_export_file(files, join_path(folder, path), bytes);
  if (encoded.variables.empty()) return;
  files.make_directories(join_path(folder, "variables"));
  CheckpointWriter writer(join_path(folder, "variables/variables"), files);
  for (const auto& [name, tensor] : encoded.variables) writer.add(name, tensor);
  writer.finish();
}

std::string joined(const std::vector<FormatRefusal>& refusals) {
  std::string text;
  for (const auto& [format, problems] : refusals) {
    text += concat(text.empty() ? "" : "\n", to_string(format), ":");
    for (const std::string& problem : problems) text += "\n  " + problem;
  }
  return text;
}

}  // namespace

const char* to_string(ExportFormat format) {
  switch (format) {
    case ExportFormat::kTorchScript:
      return "TorchScript";
    case ExportFormat::kSavedModel:
      return "SavedModel";
    case ExportFormat::kOnnx:
      return "ONNX";
  }
  return "unknown";
}

ExportResult write_saved_model(const std::string& base, const ExportRequest& request, FileSystem& files) {
  require(!request.formats.empty(), "export: no format was asked for");
  const TracedModels models = trace_models(request);
  ExportResult result;
  if (models.serve) result.warnings = models.serve->trace.warnings;
  std::vector<Encoded> encoded;
  for (const ExportFormat format : request.formats) {
    Encoded one = encode_or_refuse(format, models, request);
    if (one.problems.empty()) {
      result.formats.push_back(format);
      result.warnings.insert(result.warnings.end(), one.warnings.begin(), one.warnings.end());
      encoded.push_back(std::move(one));
    } else {
      result.refusals.push_back({format, std::move(one.problems)});
    }
  }
  if (encoded.empty()) {
    fail(ErrorKind::kUnimplemented, "export: no format that was asked for can express the model\n",
         joined(result.refusals));
  }
  const auto write = [&](const std::string& folder) {
    for (const Encoded& one : encoded) write_files(files, folder, one);
  };
  result.path = export_to_directory(base, files, write, {.assets_extra = request.assets_extra});
  return result;
}

}  // namespace belfry
