#include "export_peer.h"

#include <torch/torch.h>

#include "core/error.h"
#include "core/file_system.h"
#include "tests/export/random_features.h"

namespace belfry::testing {

using Json = nlohmann::json;

Json PeerCases::add_tensor(const at::Tensor& given) {
  const at::Tensor tensor = given.contiguous();
  const Json described = {{"dtype", c10::getDtypeNames(tensor.scalar_type()).first},
                          {"shape", tensor.sizes().vec()},
                          {"offset", tensors_.size()}};
  tensors_.append(static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes());
  return described;
}

Json PeerCases::call(const ExportRequest& request, int64_t rows) {
  const torch::NoGradGuard no_grad;
  Json call = {{"inputs", Json::object()}, {"outputs", Json::object()}};
  const Features features = random_features(request.receiver, rows, ++seed_);
  for (const auto& [name, value] : features) call["inputs"][name] = add_tensor(value.tensor());
  for (const auto& [signature, output] : request.function(features)) {
    for (const ExportTensor& one : output.tensors()) {
      const std::string name = signature == kServingDefault ? one.name : signature + "/" + one.name;
      call["outputs"][name] = add_tensor(one.tensor);
    }
  }
  return call;
}

void PeerCases::add(const std::string& name, const std::vector<ExportRequest>& requests) {
  try {
    Json paths = Json::array();
    for (const ExportRequest& request : requests) {
      const std::string base = join_path(folder_, concat(name, paths.size()));
      paths.push_back(write_saved_model(base, request, posix_file_system()).path);
    }
    Json calls = Json::array();
    for (const int64_t rows : {1, 2, 7, 33}) calls.push_back(call(requests.at(0), rows));
    cases_.push_back({{"name", name}, {"paths", paths}, {"calls", calls}});
  } catch (const std::exception& error) {
    cases_.push_back({{"name", name}, {"error", error.what()}});
  }
}

void PeerCases::write() const {
  write_file_atomically(posix_file_system(), join_path(folder_, "tensors"), tensors_);
  write_file_atomically(posix_file_system(), join_path(folder_, "cases.json"), cases_.dump());
}

ExportRequest export_request(const ExportCase& one, ExportFormat format) {
  const auto function = one.request.function;
  return {.function =
              [function](const Features& features) {
                return ExportOutputs{{kServingDefault, PredictOutput{function(features)}}};
              },
          .receiver = one.request.receiver,
          .variables = one.request.variables,
          .formats = {format}};
}

}  // namespace belfry::testing
