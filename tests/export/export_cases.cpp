#include "export_cases.h"

namespace belfry::testing {

ExportCase of_one(const std::string& name, const OneInput& function, TensorSpec x) {
  return {name, request_of(function, std::move(x))};
}

ExportCase of_two(const std::string& name, const TwoInputs& function, TensorSpec a, TensorSpec b) {
  return {name,
          {[function](const Features& features) {
             return TensorDict{{"y", function(features["a"], features["b"])}};
           },
           ServingInputReceiver(Specs{{"a", std::move(a)}, {"b", std::move(b)}}),
           {}}};
}

ExportCases all_export_cases() {
  ExportCases all;
  for (const auto family : {elementwise_cases, reduction_cases, shape_cases, indexing_cases, layer_cases,
                            recurrent_cases, loss_cases, model_cases, length_cases, dtype_cases}) {
    for (ExportCase& one : family()) all.push_back(std::move(one));
  }
  return all;
}

}  // namespace belfry::testing
