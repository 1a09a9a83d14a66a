#include "export/saved_model_export.h"

#include <algorithm>

#include "checkpoint/checkpoint_writer.h"
#include "core/error.h"
#include "export/export_directory.h"
#include "export/internal/import/import_graph.h"
#include "export/onnx_writer.h"
#include "export/saved_model_writer.h"
#include "export/serving_graph.h"
#include "export/torchscript_writer.h"

namespace belfry {
namespace {

// The traced function's outputs are those of all signatures, one after another.
std::string traced_name(const std::string& signature, const std::string& output) { return signature + "/" + output; }

TensorDict flatten(const ExportOutputs& outputs) {
  TensorDict flat;
  for (const auto& [signature, output] : outputs) {
    for (const ExportTensor& entry : output.tensors()) flat.set(traced_name(signature, entry.name), entry.tensor);
  }
  return flat;
}

size_t index_of(const Trace& trace, const std::string& name) {
  const auto named = [&](const TracedOutput& output) { return output.name == name; };
  return std::find_if(trace.outputs.begin(), trace.outputs.end(), named) - trace.outputs.begin();
}

std::vector<TracedSignature> signatures_of(const ExportOutputs& outputs, const Trace& trace) {
  std::vector<TracedSignature> signatures;
  for (const auto& [name, output] : outputs) {
    TracedSignature signature{name, output.kind(), {}, output.class_names()};
    for (const ExportTensor& entry : output.tensors()) {
      signature.outputs.push_back({entry.name, index_of(trace, traced_name(name, entry.name)), entry.vocabulary});
    }
    signatures.push_back(std::move(signature));
  }
  return signatures;
}

// What every writer of a format works from.
struct TracedModel {
  Trace trace;
  std::vector<TracedSignature> signatures;
};

TracedModel trace_model(const ExportRequest& request) {
  require(static_cast<bool>(request.function), "export: there is no function to trace");
  ExportOutputs last;
  const auto function = [&](const Features& features) {
    last = resolve_export_outputs(request.function(features), {});
    return flatten(last);
  };
  Trace traced = trace({function, request.receiver, request.variables});
  std::vector<TracedSignature> signatures = signatures_of(last, traced);
  return {std::move(traced), std::move(signatures)};
}

// The files of one format by their paths, or why there are none.
struct Encoded {
  ExportFormat format;
  std::vector<std::pair<std::string, std::string>> files = {};
  std::vector<std::string> problems = {};
  NamedTensors variables = {};  // of a SavedModel
  std::vector<std::string> warnings = {};
};

Encoded encode_saved_model(const TracedModel& model, const ExportRequest& request) {
  const SavedModelOptions& options = request.saved_model;
  SavedModel saved = saved_model_bytes(serving_graph(model.trace, request.receiver, model.signatures), options);
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

Encoded encode(ExportFormat format, const TracedModel& model, const ExportRequest& request) {
  switch (format) {
    case ExportFormat::kTorchScript:
      return {format,
              {{"torchscript/model.pt", torchscript_bytes(model.trace, model.signatures, request.receiver.graph())}}};
    case ExportFormat::kSavedModel:
      return encode_saved_model(model, request);
    case ExportFormat::kOnnx:
      return encode_onnx(model, request);
  }
  fail(ErrorKind::kInvalidArgument, "export: there is no format of number ", static_cast<int>(format));
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
  const TracedModel model = trace_model(request);
  ExportResult result{.path = {}, .formats = {}, .warnings = model.trace.warnings, .refusals = {}};
  std::vector<Encoded> encoded;
  for (const ExportFormat format : request.formats) {
    Encoded one = encode(format, model, request);
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
