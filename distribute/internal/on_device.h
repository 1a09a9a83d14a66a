// A batch on the device that works on it.
#pragma once

#include <c10/core/Device.h>

#include "core/tensor_dict.h"

namespace belfry::internal {

// Tensors moved to a GPU; strings, and everything where the device is the CPU, as they are.
TensorDict on_device(const TensorDict& dict, at::Device device);

}  // namespace belfry::internal
