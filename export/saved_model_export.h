// Exports a model function to a folder from which others serve it without its code.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "../core/file_system.h"
#include "../core/tensor_dict.h"
#include "export_output.h"
#include "saved_model_options.h"
#include "serving_input_receiver.h"
#include "trace.h"

namespace belfry {

enum class ExportFormat {
  kTorchScript,  // torchscript/model.pt, see torchscript_bytes
  kSavedModel,   // saved_model.pb or saved_model.pbtxt, assets/, variables/: see saved_model_bytes
  kOnnx,         // onnx/model.onnx, see onnx_bytes
};

// "TorchScript" and so on.
const char* to_string(ExportFormat format);

// The graph of an evaluation, which a SavedModel holds under the tag "eval".
struct EvalRequest {
  // The model in EVAL, under the terms of TraceRequest::function, of features and labels by the inputs' names.
  std::function<TensorDict(const Features& inputs)> function;
  ServingInputReceiver receiver;  // of build_supervised_input_receiver_fn
};

struct ExportRequest {
  // The model in PREDICT, under the terms of TraceRequest::function. None: nothing serves, and `receiver` counts for
  // nothing.
  std::function<ExportOutputs(const Features& features)> function;
  ServingInputReceiver receiver;
  NamedTensors variables = {};
  // Path below assets.extra/ to the file that is copied there.
  std::map<std::string, std::string> assets_extra = {};
  std::vector<ExportFormat> formats = {ExportFormat::kTorchScript, ExportFormat::kSavedModel};
  SavedModelOptions saved_model = {};
  // Beyond it the weights of ONNX lie in onnx/model.onnx.data, and a warning says so.
  int64_t onnx_inline_bytes_limit = 1'900'000'000;
  // Beside the model that serves; a SavedModel alone has it.
  std::optional<EvalRequest> eval = {};
};

// A format that cannot express the model.
struct FormatRefusal {
  ExportFormat format;
  std::vector<std::string> problems;  // every operation that it lacks, with the reason and the places in the model
};

struct ExportResult {
  std::string path;                     // BASE/<unix seconds>
  std::vector<ExportFormat> formats;    // those written
  std::vector<std::string> warnings;    // a sentence each; nothing is printed
  std::vector<FormatRefusal> refusals;  // formats that were asked for and are not there
};

// Traces the function once and writes every format into BASE/<unix seconds>/, atomically (export_to_directory).
// Signatures follow resolve_export_outputs; where the receiver takes plain tensors, each is served by the predict
// method, whatever its kind. A format that cannot express the model is left out and told in the result; kUnimplemented,
// with all problems, when no format is left. Other errors are those of trace(), of resolve_export_outputs() and of the
// file system; after one there is no new folder.
ExportResult write_saved_model(const std::string& base, const ExportRequest& request, FileSystem& files);

}  // namespace belfry
