// Exports models and writes what the models themselves answer, for programs that run the exports.
#pragma once

#include <string>
#include <vector>

#include "export/saved_model_export.h"
#include "tests/export/export_cases.h"

#include <nlohmann/json.hpp>

namespace belfry::testing {

// Cases of one folder: an export for each way to write each case, FOLDER/tensors (numbers, one tensor behind another)
// and FOLDER/cases.json, which says for each case where its exports lie, and for each number of rows where in `tensors`
// are the inputs and the outputs.
class PeerCases {
 public:
  explicit PeerCases(std::string folder) : folder_(std::move(folder)) {}

  // Exports and calls the model. Outputs of serving_default have their own names, others "signature/name". An error is
  // written as the case's, since the other cases are still of interest.
  // The model is exported in several ways where more than one request is given.
  void add(const std::string& name, const std::vector<ExportRequest>& requests);
  void write() const;

 private:
  nlohmann::json add_tensor(const at::Tensor& tensor);
  nlohmann::json call(const ExportRequest& request, int64_t rows);

  std::string folder_;
  nlohmann::json cases_ = nlohmann::json::array();
  std::string tensors_;
  uint64_t seed_ = 0;
};

// The case as a model of one signature.
ExportRequest export_request(const ExportCase& one, ExportFormat format);

}  // namespace belfry::testing
