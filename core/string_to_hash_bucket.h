// Strings to numbers without a vocabulary.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "string_tensor.h"

namespace belfry {

// hash64 of each string modulo `num_buckets`: int64 of the same shape, in [0, num_buckets), on the CPU. The buckets are
// those of tf.strings.to_hash_bucket_fast. kInvalidArgument, with the number, for fewer than one bucket.
at::Tensor string_to_hash_bucket_fast(const StringTensor& strings, int64_t num_buckets);

}  // namespace belfry
