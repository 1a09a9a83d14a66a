// Models that use every operation which the export knows, with the options that change what it does.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "export/trace.h"
#include "traced_models.h"

namespace belfry::testing {

struct ExportCase {
  std::string name;  // a file name
  TraceRequest request;
};

using ExportCases = std::vector<ExportCase>;

// Of float inputs "x" [-1, 4, 6], unless said otherwise.
ExportCases elementwise_cases();
ExportCases reduction_cases();
ExportCases shape_cases();
ExportCases indexing_cases();
ExportCases layer_cases();
ExportCases recurrent_cases();
ExportCases loss_cases();
ExportCases model_cases();
ExportCases length_cases();  // sizes of their own
ExportCases dtype_cases();

ExportCases all_export_cases();
// Not among them: what TensorFlow has no kernel for.
ExportCases onnx_only_cases();

// Makers of cases.
using OneInput = std::function<at::Tensor(const at::Tensor&)>;
using TwoInputs = std::function<at::Tensor(const at::Tensor&, const at::Tensor&)>;

ExportCase of_one(const std::string& name, const OneInput& function, TensorSpec x = {.shape = {-1, 4, 6}});
// Inputs "a" and "b".
ExportCase of_two(const std::string& name, const TwoInputs& function, TensorSpec a = {.shape = {-1, 6}},
                  TensorSpec b = {.shape = {-1, 6}});

// Random numbers in place of initial ones, which are often zeros and ones; positive where they have to be.
template <class Module>
Module randomized(Module module) {
  const torch::NoGradGuard no_grad;
  for (auto& parameter : module->parameters()) parameter.normal_(0, 0.4);
  for (auto& buffer : module->named_buffers()) {
    if (!buffer.value().defined()) continue;  // a batch norm without running statistics
    if (buffer.key().ends_with("running_var")) buffer.value().uniform_(0.5, 2);
    if (buffer.key().ends_with("running_mean")) buffer.value().normal_();
  }
  module->eval();
  return module;
}

template <class Module>
ExportCase of_module(const std::string& name, Module module, TensorSpec x = {.shape = {-1, 4, 6}}) {
  return {name, request_of_module(randomized(std::move(module)), std::move(x))};
}

inline TensorSpec floats(std::vector<int64_t> shape) { return {.shape = std::move(shape)}; }
// Numbers below `high`.
inline TensorSpec ids(int64_t high, std::vector<int64_t> shape) {
  return {.dtype = at::kLong, .shape = std::move(shape), .high = high};
}

}  // namespace belfry::testing
