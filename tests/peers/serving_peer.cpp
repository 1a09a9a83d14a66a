// Exports models of strings and examples, and asks them in C++.
// usage: serving_peer FOLDER   makes FOLDER/<model>/<seconds>/ and FOLDER/models.json: requests, and what Predictor
// answers for each signature.

#include <torch/torch.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file_system.h"
#include "described.h"
#include "export/predictor.h"
#include "tests/export/receiver_models.h"

using namespace belfry;
using namespace belfry::testing;
using Json = nlohmann::json;

namespace {

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
