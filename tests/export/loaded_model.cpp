#include "loaded_model.h"

#include <sstream>

#include "random_features.h"
#include "tests/testing.h"

namespace belfry::testing {

std::vector<TracedSignature> default_signature(const Trace& trace) {
  TracedSignature signature{.name = kServingDefault};
  for (size_t i = 0; i < trace.outputs.size(); ++i) signature.outputs.push_back({trace.outputs[i].name, i});
  return {signature};
}

torch::jit::Module load(const std::string& bytes) {
  std::istringstream in(bytes);
  return torch::jit::load(in);
}

std::vector<at::Tensor> call(torch::jit::Module& module, const std::string& method, const Features& features) {
  const torch::NoGradGuard no_grad;
  std::vector<c10::IValue> inputs;
  for (const auto& [name, value] : features) inputs.emplace_back(value.tensor());
  const c10::IValue output = module.get_method(method)(inputs);
  if (output.isTensor()) return {output.toTensor()};
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& element : output.toTuple()->elements()) tensors.push_back(element.toTensor());
  return tensors;
}

void check_round_trip(const TraceRequest& request) {
  const Trace traced = trace(request);
  torch::jit::Module module = load(torchscript_bytes(traced, default_signature(traced)));
  const torch::NoGradGuard no_grad;
  for (const int64_t rows : {1, 2, 4, 9, 2, 17}) {  // again after the executor has specialised itself
    const Features features = random_features(request.receiver, rows, 100 + rows);
    const TensorDict wanted = request.function(features);
    const std::vector<at::Tensor> outputs = call(module, "forward", features);
    REQUIRE(outputs.size() == wanted.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      INFO("output " << traced.outputs[i].name << " with " << rows << " rows");
      const at::Tensor& want = wanted.at(traced.outputs[i].name).tensor();
      REQUIRE(outputs[i].sizes() == want.sizes());
      REQUIRE(outputs[i].scalar_type() == want.scalar_type());
      CHECK(at::allclose(outputs[i], want, 1e-5, 1e-6, /*equal_nan=*/true));
    }
  }
}

}  // namespace belfry::testing
