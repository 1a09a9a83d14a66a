// Exports a model and writes inputs and the outputs that the model itself gives for them.
// usage: torchscript_peer FOLDER   makes FOLDER/export/<seconds>/, FOLDER/cases.json, prints the export's path.

#include <torch/torch.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "core/file_system.h"
#include "described.h"
#include "export/saved_model_export.h"

using namespace belfry;
using belfry::testing::described;
using Json = nlohmann::json;

namespace {

struct Net : torch::nn::Module {
  torch::nn::Embedding embedding{register_module("embedding", torch::nn::Embedding(10, 4))};
  torch::nn::LSTM lstm{register_module("lstm", torch::nn::LSTM(torch::nn::LSTMOptions(4, 5).batch_first(true)))};
  torch::nn::BatchNorm1d norm{register_module("norm", torch::nn::BatchNorm1d(8))};
  torch::nn::Linear logits{register_module("logits", torch::nn::Linear(8, 3))};

  ExportOutputs forward(const Features& features) {
    const auto states = std::get<0>(lstm->forward(embedding(features["words"]))).select(1, -1);
    const auto out = logits(torch::dropout(norm(torch::cat({features["dense"], states}, 1)), 0.5, is_training()));
    const auto probabilities = out.softmax(1);
    return {{kServingDefault, PredictOutput{{{"logits", out}, {"probabilities", probabilities}}}},
            {"classes", ClassificationOutput{probabilities, out.argmax(1, true), {"low", "mid", "high"}}},
            {"value", RegressionOutput{out.sum(1)}}};
  }
};

NamedTensors named_tensors(const torch::nn::Module& module) {
  NamedTensors tensors;
  for (const auto& item : module.named_parameters()) tensors.emplace_back("net/" + item.key(), item.value());
  for (const auto& item : module.named_buffers()) tensors.emplace_back("net/" + item.key(), item.value());
  return tensors;
}

void append_cases(Json& cases, Net& net, int64_t rows) {
  const torch::NoGradGuard no_grad;
  const Features features{{"dense", torch::randn({rows, 3})}, {"words", torch::randint(0, 10, {rows, 6})}};
  for (const auto& [signature, output] : net.forward(features)) {
    Json one = {{"signature", signature}};
    one["inputs"] = described(features);
    for (const ExportTensor& tensor : output.tensors()) one["outputs"][tensor.name] = described(Value(tensor.tensor));
    cases.push_back(one);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: torchscript_peer FOLDER\n";
    return 2;
  }
  const std::string folder = argv[1];
  torch::manual_seed(1);
  const auto net = std::make_shared<Net>();
  net->eval();
  const ExportRequest request{
      .function = [net](const Features& features) { return net->forward(features); },
      .receiver = ServingInputReceiver(std::vector<std::pair<std::string, TensorSpec>>{
          {"dense", {.shape = {-1, 3}}}, {"words", {.dtype = at::kLong, .shape = {-1, 6}, .high = 10}}}),
      .variables = named_tensors(*net)};
  const ExportResult result = write_saved_model(join_path(folder, "export"), request, posix_file_system());
  Json cases = Json::array();
  for (const int64_t rows : {1, 4, 13}) append_cases(cases, *net, rows);
  write_file_atomically(posix_file_system(), join_path(folder, "cases.json"), cases.dump());
  std::cout << result.path << "\n";
  return 0;
}
