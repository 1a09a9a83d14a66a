// Writes a SavedModel for each operation and model of the export's tests, and what the models themselves answer.
// usage: saved_model_peer FOLDER   writes what PeerCases says

#include <torch/torch.h>

#include <iostream>

#include "core/error.h"
#include "export_peer.h"

using namespace belfry;
using namespace belfry::testing;

namespace {

// With its weights as constants, and again as variables where it has any.
std::vector<ExportRequest> ways_to_write(const ExportCase& one) {
  std::vector<ExportRequest> ways{export_request(one, ExportFormat::kSavedModel)};
  ways[0].saved_model = {.weights = SavedModelWeights::kConstants};
  if (one.request.variables.empty()) return ways;
  ways.push_back(ways[0]);
  ways[1].saved_model = {.weights = SavedModelWeights::kVariables, .as_text = true};
  return ways;
}

}  // namespace

int main(int argc, char** argv) try {
  require(argc == 2, "usage: saved_model_peer FOLDER");
  torch::manual_seed(1);
  PeerCases cases(argv[1]);
  for (const ExportCase& one : all_export_cases()) cases.add(one.name, ways_to_write(one));
  cases.write();
  return 0;
} catch (const std::exception& error) {
  std::cerr << "saved_model_peer: " << error.what() << "\n";
  return 1;
}
