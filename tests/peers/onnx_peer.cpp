// Writes an ONNX model for each operation and model of the export's tests, and what the models themselves answer; one
// more with its weights in a file of their own, and one of several signatures.
// usage: onnx_peer FOLDER   writes what PeerCases says

#include <torch/torch.h>

#include <iostream>

#include "core/error.h"
#include "export_peer.h"

using namespace belfry;
using namespace belfry::testing;

namespace {

ExportRequest with_weights_apart() {
  ExportRequest request = export_request({"", attention_request()}, ExportFormat::kOnnx);
  request.onnx_inline_bytes_limit = 100;
  return request;
}

ExportRequest with_signatures() {
  const TraceRequest traced = wide_and_deep_request();
  const auto function = [traced](const Features& features) -> ExportOutputs {
    const TensorDict outputs = traced.function(features);
    const at::Tensor ids = outputs["logits"].argmax(1, /*keepdim=*/true);
    return {{"classes", ClassificationOutput{outputs["probabilities"], ids, {"low", "mid", "high"}}},
            {kServingDefault, PredictOutput{outputs}},
            {"value", RegressionOutput{outputs["logits"].sum(1)}}};
  };
  return {.function = function,
          .receiver = traced.receiver,
          .variables = traced.variables,
          .formats = {ExportFormat::kOnnx}};
}

}  // namespace

int main(int argc, char** argv) try {
  require(argc == 2, "usage: onnx_peer FOLDER");
  torch::manual_seed(1);
  PeerCases cases(argv[1]);
  for (const ExportCase& one : all_export_cases()) cases.add(one.name, {export_request(one, ExportFormat::kOnnx)});
  for (const ExportCase& one : onnx_only_cases()) cases.add(one.name, {export_request(one, ExportFormat::kOnnx)});
  cases.add("weights_apart", {with_weights_apart()});
  cases.add("signatures", {with_signatures()});
  cases.write();
  return 0;
} catch (const std::exception& error) {
  std::cerr << "onnx_peer: " << error.what() << "\n";
  return 1;
}
