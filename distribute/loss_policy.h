// How the loss of one replica counts in the loss of the step.
#pragma once

namespace belfry {

// The step's loss and gradient are the sum over replicas of contribution * loss. Installed by replicate_model_fn, and
// by Estimator under a strategy; the default is that of a single replica.
struct LossPolicy {
  // w: this replica's share of the batch's rows.
  double row_weight = 1.0;
  // c: what this replica's loss is multiplied by.
  double contribution = 1.0;
  // Whether functions of losses:: agree on their denominators with the other replicas, so that the step's loss is that
  // of one device: a mean-type loss is then num / (D * c), a SUM-type one num / c, a penalty x * w / c.
  bool exact = false;
};

}  // namespace belfry
