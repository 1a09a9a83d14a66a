// Trains and exports the gallery's models, and says what they predict.
// usage: gallery_peer FOLDER [MODEL ...]   makes FOLDER/<model>/exports/<seconds>/ and FOLDER/models.json: for each
// model where its export is, the formats in it, and requests with what Estimator::predict answers, by signature.

#include <torch/torch.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file_system.h"
#include "described.h"
#include "tests/gallery/gallery.h"

using namespace belfry;
using namespace belfry::testing;
using Json = nlohmann::json;

namespace {

Json export_and_predict(const GalleryModel& model, const std::string& folder) {
  TrainedModel trained = train_and_export(model, join_path(folder, model.name));
  const Predictor predictor(trained.exported.path);
  Json calls = Json::array();
  for (const int64_t rows : {1, 2, 7, 33}) {
    const TensorDict request = model.request(rows);
    Json answers = Json::object();
    for (const auto& [signature, outputs] : wanted_answers(model, trained.estimator, predictor, request)) {
      answers[signature] = described(outputs);
    }
    calls.push_back({{"inputs", described(request)}, {"answers", answers}});
  }
  Json formats = Json::array();
  for (const ExportFormat format : trained.exported.formats) formats.push_back(to_string(format));
  return {{"name", model.name},
          {"path", trained.exported.path},
          {"has_receiver", model.receiver().graph() != nullptr},
          {"formats", formats},
          {"calls", calls}};
}

bool is_asked_for(const std::string& name, const std::vector<std::string>& names) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

int main(int argc, char** argv) try {
  require(argc >= 2, "usage: gallery_peer FOLDER [MODEL ...]");
  const std::string folder = argv[1];
  const std::vector<std::string> names(argv + 2, argv + argc);
  torch::manual_seed(1);
  Json models = Json::array();
  for (const GalleryModel& model : all_gallery_models()) {
    if (is_asked_for(model.name, names)) models.push_back(export_and_predict(model, folder));
  }
  write_file_atomically(posix_file_system(), join_path(folder, "models.json"), models.dump());
  return 0;
} catch (const std::exception& error) {
  std::cerr << "gallery_peer: " << error.what() << "\n";
  return 1;
}
