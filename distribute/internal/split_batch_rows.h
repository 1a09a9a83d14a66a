// A batch cut into pieces for replicas.
#pragma once

#include <cstdint>
#include <vector>

#include "data/batch.h"

namespace belfry::internal {

// Rows of each piece when `rows` are cut into pieces of ceil(rows / replicas): the last ones may be short or empty.
std::vector<int64_t> ceil_sizes(int64_t rows, int64_t replicas);
// When batches of `global_batch_size` are divided as evenly as can be, the first replicas taking one row more, and
// this one has `rows`.
std::vector<int64_t> even_sizes(int64_t global_batch_size, int64_t rows, int64_t replicas);

// Consecutive rows of every entry, sharing its memory. kInvalidArgument where entries differ in their rows, and for
// scalars.
std::vector<Batch> split_rows_of(const Batch& batch, const std::vector<int64_t>& sizes);
int64_t rows_of(const Batch& batch);
// As `batch`, without a row.
Batch without_rows(const Batch& batch);

}  // namespace belfry::internal
