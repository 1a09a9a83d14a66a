// Writes a graph as ONNX, which ONNX Runtime and others run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "export_output.h"
#include "graph/graph.h"
#include "torchscript_writer.h"

namespace belfry {

struct OnnxModel {
  std::string bytes;                  // of the .onnx file; empty when there are problems
  std::string data = {};              // of the file of weights beside it; empty when they are in `bytes`
  std::vector<std::string> problems;  // every operation that ONNX cannot express, with its reason and places
};

struct OnnxOptions {
  // Protobuf holds 2 GB in a message: beyond this sum, weights and constants of more than 256 bytes go to a file of
  // their own, each at a multiple of 4096, so that readers can map it.
  int64_t inline_bytes_limit = 1'900'000'000;
  // Its name, from the folder of the model.
  std::string data_file = "model.onnx.data";
  // What makes the inputs of strings and examples, when there is such a receiver: described in the metadata alone.
  const Graph* receiver = nullptr;
};

// Entries of metadata_props.
inline constexpr const char* kOnnxSignatures = "belfry_signatures";
inline constexpr const char* kOnnxReceiver = "belfry_receiver";  // what kReceiverFile holds in TorchScript

// A model of opset 17 and IR version 8. Inputs have the names of the receiver's, and as dimension 0 "batch";
// initializers those of their variables (a number is added where a name is taken). A model has one list of outputs:
// those of serving_default under their own names, those of another signature as "signature/output"; one that has the
// name of an input becomes "serving_default/output". The same graph gives the same bytes.
//
// metadata_props["belfry_signatures"] is JSON: {"serving_default": {"kind": "predict", "inputs": [{"name", "dtype",
// "shape"}], "outputs": [{"name", "output", "dtype", "shape", "vocabulary"?}], "class_names"?}}; "output" is the name
// in the model, -1 a size that is not fixed.
//
// What ONNX Runtime's CPU has no kernel for in an operand's dtype is computed in another one between casts, see
// internal/onnx/kernel_dtype.h and docs/export.md. Strings are problems, and ids stay ids.
OnnxModel onnx_bytes(const Graph& graph, const std::vector<TracedSignature>& signatures,
                     const OnnxOptions& options = {});

}  // namespace belfry
