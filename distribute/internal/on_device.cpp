#include "distribute/internal/on_device.h"

#include <ATen/ATen.h>

namespace belfry::internal {

TensorDict on_device(const TensorDict& dict, at::Device device) {
  if (device.is_cpu()) return dict;
  TensorDict moved;
  for (const auto& [name, value] : dict) {
    moved.set(name, value.is_tensor() ? Value(value.tensor().to(device)) : value);
  }
  return moved;
}

}  // namespace belfry::internal
