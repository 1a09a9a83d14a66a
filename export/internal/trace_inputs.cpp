#include "export/internal/trace_inputs.h"

#include <ATen/ATen.h>

namespace belfry::internal {
namespace {

at::Tensor random_tensor(const TensorSpec& spec, const FreeSizes& sizes, const at::Generator& generator) {
  const std::vector<int64_t> shape = with_sizes(spec.shape, sizes);
  if (spec.dtype == at::kBool) return at::randint(0, 2, shape, generator, at::kLong).to(at::kBool);
  if (!at::isFloatingType(spec.dtype)) {
    return at::randint(spec.low, spec.high, shape, generator, at::kLong).to(spec.dtype);
  }
  return at::randn(shape, generator, at::kFloat).to(spec.dtype);
}

}  // namespace

Features random_features(const ServingInputReceiver& receiver, const FreeSizes& sizes, at::Generator generator) {
  Features features;
  for (const ServingInput& input : receiver.inputs()) {
    features.set(input.feature, random_tensor(input.spec, sizes, generator));
  }
  return features;
}

}  // namespace belfry::internal
