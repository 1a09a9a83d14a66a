// One spec of the towers' specs.
#pragma once

#include <string>
#include <vector>

#include "distribute/loss_policy.h"
#include "estimator/estimator_spec.h"

namespace belfry::internal {

struct TowerResult {
  EstimatorSpec spec;
  LossPolicy policy;
  int64_t rows = 0;
};

// Everything but the train op: the loss is the sum of contribution * loss, on the CPU where towers differ in device;
// metrics are merged, plain ones weighted by rows; predictions and export outputs are concatenated in tower order; all
// else is tower 0's. kFailedPrecondition, naming the tower, when specs differ in their mode, in having a loss or a
// train op, in the names of metrics, predictions or export outputs, in the kind of one, or when another
// tower has more hooks than tower 0. `noun` is what the message calls a tower.
EstimatorSpec merge_specs(std::vector<TowerResult> towers, const std::string& noun = "tower");

}  // namespace belfry::internal
