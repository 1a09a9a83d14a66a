// What a data set hands out.
#pragma once

#include <tuple>

#include "../core/tensor_dict.h"

namespace belfry {

// One element of a Dataset: before Dataset::batch one example, whose tensors have no batch dimension; after it one
// batch, with the examples along dimension 0. `labels` is empty where the data has none.
struct Batch {
  Features features;
  Labels labels;
};
// Batches are structures of tensors, see core/nested.h.
inline auto nest_fields(Batch& batch) { return std::tie(batch.features, batch.labels); }

}  // namespace belfry
