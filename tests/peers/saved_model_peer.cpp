// Writes a SavedModel for each operation and model of the export's tests, and what the models themselves answer.
// usage: saved_model_peer FOLDER   makes an export for each case, FOLDER/tensors (numbers, one tensor behind
// another) and FOLDER/cases.json, which says for each case and row count where in it inputs and outputs lie.

#include <torch/torch.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file_system.h"
#include "export/internal/free_sizes.h"
#include "export/saved_model_export.h"
#include "tests/export/export_cases.h"

using namespace belfry;
using namespace belfry::testing;
using Json = nlohmann::json;

namespace {

class Tensors {
 public:
  Json add(const at::Tensor& given) {
    const at::Tensor tensor = given.contiguous();
    const Json described = {{"dtype", c10::getDtypeNames(tensor.scalar_type()).first},
                            {"shape", tensor.sizes().vec()},
                            {"offset", bytes_.size()}};
    bytes_.append(static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes());
    return described;
  }

  Json add(const TensorDict& dict) {
    Json all = Json::object();
    for (const auto& [name, value] : dict) all[name] = add(value.tensor());
    return all;
  }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

Features random_features(const ServingInputReceiver& receiver, int64_t rows) {
  Features features;
  for (const ServingInput& input : receiver.inputs()) {
    const int64_t length = input.spec.min_length + rows * 3 % (input.spec.max_length - input.spec.min_length + 1);
    const std::vector<int64_t> shape = internal::with_sizes(input.spec.shape, {rows, length});
    const bool floating = at::isFloatingType(input.spec.dtype);
    const at::Tensor numbers = floating ? at::randn(shape) : at::randint(input.spec.low, input.spec.high, shape);
    features.set(input.feature, numbers.to(input.spec.dtype));
  }
  return features;
}

Json calls_of(const TraceRequest& request, Tensors& tensors) {
  const torch::NoGradGuard no_grad;
  Json calls = Json::array();
  for (const int64_t rows : {1, 2, 7, 33}) {
    const Features features = random_features(request.receiver, rows);
    calls.push_back({{"inputs", tensors.add(features)}, {"outputs", tensors.add(request.function(features))}});
  }
  return calls;
}

// With its weights as constants, and again as variables where it has any.
std::vector<SavedModelOptions> ways_to_write(const ExportCase& one) {
  std::vector<SavedModelOptions> ways{{.weights = SavedModelWeights::kConstants}};
  if (!one.request.variables.empty()) ways.push_back({.weights = SavedModelWeights::kVariables, .as_text = true});
  return ways;
}

Json export_case(const ExportCase& one, const std::string& folder, Tensors& tensors) {
  ExportRequest request{.function =
                            [&one](const Features& features) {
                              return ExportOutputs{{kServingDefault, PredictOutput{one.request.function(features)}}};
                            },
                        .receiver = one.request.receiver,
                        .variables = one.request.variables,
                        .formats = {ExportFormat::kSavedModel}};
  Json paths = Json::array();
  for (const SavedModelOptions& way : ways_to_write(one)) {
    request.saved_model = way;
    const std::string base = join_path(folder, concat(one.name, paths.size()));
    paths.push_back(write_saved_model(base, request, posix_file_system()).path);
  }
  return {{"name", one.name}, {"paths", paths}, {"calls", calls_of(one.request, tensors)}};
}

}  // namespace

int main(int argc, char** argv) try {
  require(argc == 2, "usage: saved_model_peer FOLDER");
  const std::string folder = argv[1];
  torch::manual_seed(1);
  Tensors tensors;
  Json cases = Json::array();
  for (const ExportCase& one : all_export_cases()) {
    try {
      cases.push_back(export_case(one, folder, tensors));
    } catch (const std::exception& error) {  // the other cases are still of interest
      cases.push_back({{"name", one.name}, {"error", error.what()}});
    }
  }
  write_file_atomically(posix_file_system(), join_path(folder, "tensors"), tensors.bytes());
  write_file_atomically(posix_file_system(), join_path(folder, "cases.json"), cases.dump());
  return 0;
} catch (const std::exception& error) {
  std::cerr << "saved_model_peer: " << error.what() << "\n";
  return 1;
}
