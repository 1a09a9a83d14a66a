// Writes a trace as a TorchScript file that torch.jit.load, torch::jit::load and Triton run without Belfry.
#pragma once

#include <string>
#include <vector>

#include "export_output.h"
#include "trace.h"

namespace belfry {

// One signature of a trace: which of the trace's outputs it returns, under what names.
struct TracedSignature {
  std::string name;
  ExportKind kind = ExportKind::kPredict;
  struct Output {
    std::string name;
    size_t index = 0;  // into Trace::outputs
    std::vector<std::string> vocabulary = {};
  };
  std::vector<Output> outputs = {};
  std::vector<std::string> class_names = {};
};

// The extra file inside the .pt that describes it (torch.jit.load's _extra_files).
inline constexpr const char* kSignatureFile = "belfry_signature.json";
// The extra file that tells how a receiver makes the inputs of strings and examples; there where the receiver does.
inline constexpr const char* kReceiverFile = "belfry_receiver.json";

// The bytes of a .pt file. serving_default is `forward`; each other signature is a method of its own name, mangled.
// Methods take the inputs by position in the order of the receiver (or by name, mangled) and return a tensor, or a
// tuple in the order of the signature's outputs where there are several. Weights are attributes named by
// mangle_name(variable), and only those that a signature reads are written. The same model gives the same bytes.
//
// belfry_signature.json: {"format": 1, "belfry_version", "torch_version", "signatures": {name: {"method", "kind",
// "method_name", "inputs": [{"name", "argument", "dtype", "shape"}], "outputs": [{"name", "dtype", "shape",
// "vocabulary"?}], "class_names"?}}, "variables": [{"name", "attribute", "dtype", "shape"}]}; -1 in a shape is the
// batch. kInvalidArgument when there is no serving_default or two signatures or outputs of one share a name.
//
// belfry_receiver.json holds the graph of the receiver, where it has one: TorchScript has no strings, so the methods
// take what that graph gives. Predictor runs it; a program of another kind does as it says.
std::string torchscript_bytes(const Trace& trace, const std::vector<TracedSignature>& signatures,
                              const Graph* receiver = nullptr);

}  // namespace belfry
