// Numbers as tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <type_traits>

namespace belfry::internal {

// A scalar tensor on the CPU, of int64 or float64.
at::Tensor scalar_of(int64_t number);
at::Tensor scalar_of(double number);
template <class Number>
at::Tensor scalar_of(Number number) {
  if constexpr (std::is_integral_v<Number>)
    return scalar_of(static_cast<int64_t>(number));
  else
    return scalar_of(static_cast<double>(number));
}

}  // namespace belfry::internal
