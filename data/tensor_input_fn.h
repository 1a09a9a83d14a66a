// The input function of data that is in memory.
#pragma once

#include <cstdint>
#include <optional>

#include "input_fn.h"

namespace belfry {

struct TensorInputOptions {
  int64_t batch_size = 128;
  // kForever repeats without end. Batches go across passes.
  int64_t num_epochs = 1;
  // Has to be said: true for training, false for evaluation and prediction.
  std::optional<bool> shuffle;
  uint64_t seed = 0;
};

// Batches of the rows of tensors, as numpy_input_fn of tf.estimator. kInvalidArgument, at once, for no features, rows
// that differ, `shuffle` not said, a label with the name of a feature, or a size or count that is not positive.
InputFn tensor_input_fn(Features features, Labels labels, const TensorInputOptions& options);
InputFn tensor_input_fn(Features features, const TensorInputOptions& options);

}  // namespace belfry
