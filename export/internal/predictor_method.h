// A method of a TorchScript module as named tensors see it.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "export/predictor.h"

namespace belfry::internal {

struct PredictorMethod {
  PredictorSignature signature;
  std::string method;
  std::map<std::string, std::vector<std::string>> vocabularies = {};  // by output: what its ids stand for
};

// Of the description inside an export, or of a foreign module's `forward`. kDataLoss when the description is damaged or
// names what the module lacks.
std::vector<PredictorMethod> methods_of(const torch::jit::Module& module, const std::string& description);

// The outputs by name; a foreign module's are named as Predictor says. kInvalidArgument for other outputs than tensors.
TensorDict named_outputs(const PredictorMethod& method, const c10::IValue& result);

}  // namespace belfry::internal
