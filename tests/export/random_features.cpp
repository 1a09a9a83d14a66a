#include "random_features.h"

#include <torch/torch.h>

#include "export/internal/free_sizes.h"

namespace belfry::testing {

Features random_features(const ServingInputReceiver& receiver, int64_t rows, uint64_t seed) {
  auto generator = at::detail::createCPUGenerator(seed);
  Features features;
  for (const ServingInput& input : receiver.inputs()) {
    const TensorSpec& spec = input.spec;
    const int64_t length = spec.min_length + rows * 3 % (spec.max_length - spec.min_length + 1);
    const std::vector<int64_t> shape = internal::with_sizes(spec.shape, {rows, length});
    const bool floating = at::isFloatingType(spec.dtype);
    const at::Tensor numbers =
        floating ? at::randn(shape, generator) : at::randint(spec.low, spec.high, shape, generator);
    features.set(input.feature, numbers.to(spec.dtype));
  }
  return features;
}

}  // namespace belfry::testing
