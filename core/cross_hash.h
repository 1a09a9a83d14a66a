// Crossed categories.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "tensor_dict.h"

namespace belfry {

// Per row, one bucket for each combination of a value of every column; `columns` are strings or int64 tensors of shape
// [rows, n_i], the result is int64 [rows, n_1 * n_2 * ...] on the CPU, in [0, num_buckets), the last column varying
// fastest. No value counts as missing.
//
// The hash is that of TensorFlow's tf.sparse.cross_hashed (the op SparseCross with hashed_output): it begins as
// `hash_key`, every value is joined to it by FingerprintCat64, strings as hash64 and integers as they are, and the
// bucket is the rest by `num_buckets`, or by the greatest int64 where that is 0.
//
// kInvalidArgument, with the column's place, for no columns, another shape, number of rows or element type, for a
// negative num_buckets, and for so many combinations that their number overflows.
at::Tensor sparse_cross_hashed(const std::vector<Value>& columns, int64_t num_buckets,
                               uint64_t hash_key = 0xDECAFCAFFE);

}  // namespace belfry
