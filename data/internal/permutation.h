// The order of a shuffle.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace belfry::data_internal {

// The numbers from `first` to `first` + `count`, as int64, in the order that `seed` alone decides: Fisher and Yates'
// exchange, drawn from std::mt19937_64, whose output the standard fixes, by multiplication, so that every machine and
// standard library has the same. LibTorch's generators are not touched.
at::Tensor permutation(uint64_t seed, int64_t first, int64_t count);

}  // namespace belfry::data_internal
