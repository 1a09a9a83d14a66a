// Which dtypes ONNX Runtime computes in.
#pragma once

#include <c10/core/ScalarType.h>

#include <string_view>

namespace belfry::internal::onnx {

// The dtype in which an operation of ONNX is to run for operands of `dtype`: the same one where the CPU kernels of ONNX
// Runtime have it and opset 17 allows it; else one that holds all its values, or float for double, whose results then
// have seven digits. Operations that only move numbers run in every dtype and need not ask.
c10::ScalarType kernel_dtype(std::string_view operation, c10::ScalarType dtype);

}  // namespace belfry::internal::onnx
