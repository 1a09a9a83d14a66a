// Cutting and joining of blocks of rows.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "data/batch.h"

namespace belfry::data_internal {

// Of the first feature, which all others agree with.
int64_t rows_of(const Batch& block);

// Row i without the dimension of the rows, sharing memory.
Batch row(const Batch& block, int64_t i);
// Rows start, start + step … `count` of them; numbers share memory.
Batch range(const Batch& block, int64_t start, int64_t step, int64_t count);
// The rows with these numbers (int64, one dimension).
Batch select(const Batch& block, const at::Tensor& indices);

// Elements along a new dimension 0. kInvalidArgument, naming the entry and both shapes, where they differ.
Batch stack(const std::vector<Batch>& elements);
// Blocks one after another.
Batch cat(const std::vector<Batch>& blocks);

// "'x' float32[1797, 64], 'name' string[1797]".
std::string describe(const TensorDict& dict);

}  // namespace belfry::data_internal
