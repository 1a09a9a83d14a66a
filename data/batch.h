// What a data set hands out.
#pragma once

#include "../core/tensor_dict.h"

namespace belfry {

// One element of a Dataset: before Dataset::batch one example, whose tensors have no batch dimension; after it one
// batch, with the examples along dimension 0. `labels` is empty where the data has none.
struct Batch {
  Features features;
  Labels labels;
};

}  // namespace belfry
