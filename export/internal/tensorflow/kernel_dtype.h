// Which dtypes TensorFlow computes in.
#pragma once

#include <c10/core/ScalarType.h>

#include <string_view>

namespace belfry::internal {

// The dtype in which an operation of TensorFlow is to run for operands of `dtype`: the same one where it has a CPU
// kernel for it, else one that holds all its values, or float for double, whose results then have seven digits. Results
// of integers that wrap are the same when they are cast back. Operations that only move numbers need not ask.
c10::ScalarType kernel_dtype(std::string_view operation, c10::ScalarType dtype);

}  // namespace belfry::internal
