// Writes a SavedModel for each operation and model of the export's tests, and what the models themselves answer.
// usage: saved_model_peer FOLDER   writes what PeerCases says

#include <torch/torch.h>

#include <iostream>

#include "core/error.h"
#include "export_peer.h"

using namespace belfry;
using namespace belfry::testing;

int main(int argc, char** argv) try {
  require(argc == 2, "usage: saved_model_peer FOLDER");
  torch::manual_seed(1);
  PeerCases cases(argv[1]);
  for (const ExportCase& one : all_export_cases()) cases.add(one.name, export_request(one, ExportFormat::kSavedModel));
  cases.write();
  return 0;
} catch (const std::exception& error) {
  std::cerr << "saved_model_peer: " << error.what() << "\n";
  return 1;
}
