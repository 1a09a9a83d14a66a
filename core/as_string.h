// Numbers written as text.
#pragma once

#include <ATen/core/Tensor.h>

#include "string_tensor.h"

namespace belfry {

// Each integer in decimal digits, with a minus where it is negative: tf.strings.as_string. Same shape; the tensor may
// be of any integer type and on any device. kInvalidArgument, with the type, for anything else.
StringTensor as_string(const at::Tensor& integers);

}  // namespace belfry
