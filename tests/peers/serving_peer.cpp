// Exports models of strings and examples, and asks them in C++.
// usage: serving_peer FOLDER   makes FOLDER/<model>/<seconds>/ and FOLDER/models.json: requests, and what Predictor
// answers for each signature.

#include <torch/torch.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file_system.h"
#include "export/predictor.h"
#include "tests/export/receiver_models.h"

using namespace belfry;
using namespace belfry::testing;
using Json = nlohmann::json;

namespace {

std::string hex(const std::string& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

Json described(const Value& value) {
  Json values = Json::array();
  if (value.is_strings()) {
    for (const std::string& string : value.strings()) values.push_back(hex(string));
    return {{"dtype", "string"}, {"shape", value.sizes()}, {"values", values}};
  }
  const at::Tensor flat = value.tensor().to(at::kDouble).contiguous().flatten();
  for (int64_t i = 0; i < flat.numel(); ++i) values.push_back(flat.const_data_ptr<double>()[i]);
  const std::string dtype = c10::getDtypeNames(value.tensor().scalar_type()).first;
  return {{"dtype", dtype}, {"shape", value.sizes()}, {"values", values}};
}

Json described(const TensorDict& dict) {
  Json all = Json::object();
  for (const auto& [name, value] : dict) all[name] = described(value);
  return all;
}

Json export_and_ask(const ReceiverModel& model, const std::string& folder) {
  const ExportResult result = write_saved_model(join_path(folder, model.name), model.request, posix_file_system());
  for (const FormatRefusal& refusal : result.refusals) fail(ErrorKind::kInternal, refusal.problems.at(0));
  const Predictor predictor(result.path);
  Json calls = Json::array();
  for (const TensorDict& request : model.requests) {
    Json answers = Json::object();
    for (const std::string& name : predictor.signature_names())
      answers[name] = described(predictor.predict(request, name));
    calls.push_back({{"inputs", described(request)}, {"answers", answers}});
  }
  return {{"name", model.name}, {"path", result.path}, {"calls", calls}};
}

}  // namespace

int main(int argc, char** argv) try {
  require(argc == 2, "usage: serving_peer FOLDER");
  const std::string folder = argv[1];
  torch::manual_seed(1);
  Json models = Json::array();
  for (ReceiverModel model : {raw_strings_model(), examples_model(folder), alternative_model()}) {
    models.push_back(export_and_ask(model, folder));
    model.request.saved_model.weights = SavedModelWeights::kVariables;
    models.push_back(export_and_ask(model, folder));
  }
  write_file_atomically(posix_file_system(), join_path(folder, "models.json"), models.dump());
  return 0;
} catch (const std::exception& error) {
  std::cerr << "serving_peer: " << error.what() << "\n";
  return 1;
}
