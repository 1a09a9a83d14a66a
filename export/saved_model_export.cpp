#include "export/saved_model_export.h"

#include <algorithm>

#include "core/error.h"
#include "export/export_directory.h"
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

void write_format(ExportFormat format, const TracedModel& model, const std::string& folder, FileSystem& files) {
  switch (format) {
    case ExportFormat::kTorchScript: {
      const std::string path = join_path(join_path(folder, "torchscript"), "model.pt");
      write_export_file(files, path, torchscript_bytes(model.trace, model.signatures));
      return;
    }
  }
  fail(ErrorKind::kInvalidArgument, "export: there is no format of number ", static_cast<int>(format));
}

}  // namespace

const char* to_string(ExportFormat format) {
  switch (format) {
    case ExportFormat::kTorchScript:
      return "TorchScript";
  }
  return "unknown";
}

ExportResult write_saved_model(const std::string& base, const ExportRequest& request, FileSystem& files) {
  require(!request.formats.empty(), "export: no format was asked for");
  const TracedModel model = trace_model(request);
  const auto write = [&](const std::string& folder) {
    for (const ExportFormat format : request.formats) write_format(format, model, folder, files);
  };
  const std::string path = export_to_directory(base, files, write, {.assets_extra = request.assets_extra});
  return {path, request.formats, model.trace.warnings};
}

}  // namespace belfry
