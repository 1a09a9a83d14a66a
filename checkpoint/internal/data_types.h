// TensorFlow's element types and LibTorch's.
#pragma once

#include <c10/core/ScalarType.h>

#include "belfry/core/tensor.pb.h"

namespace belfry {

// DT_INVALID for a type that TensorFlow does not have.
proto::DataType to_data_type(at::ScalarType type);

// Undefined for strings, and for a type that LibTorch does not have.
at::ScalarType to_scalar_type(proto::DataType type);

}  // namespace belfry
