// A recurrent layer as a loop over its steps.
#pragma once

#include "export/internal/tensorflow/recurrent_cell.h"

namespace belfry::internal {

// One layer in one direction.
struct RecurrentLayer {
  const GraphNode& node;
  TfTensor gates;  // what the inputs of all steps say, [time, batch, gates]
  RecurrentWeights weights;
  RecurrentState first;
  bool reverse;
};

struct RecurrentOutputs {
  TfTensor hidden;  // of all steps, [time, batch, n]
  TfTensor cell;    // of the last
};

// For any number of steps, also none. `size` is n.
RecurrentOutputs loop_over_steps(GraphDefBuilder& out, const RecurrentLayer& layer, int64_t size);

}  // namespace belfry::internal
