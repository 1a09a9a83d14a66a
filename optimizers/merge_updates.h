// From what towers recorded to the updates of a step.
#pragma once

#include <vector>

#include "train_op.h"

namespace belfry {

class StepContext;

// One train op from the calls that every tower recorded; each update then holds the gradients of all towers. Calls are
// compared one by one: kFailedPrecondition, naming the tower and what it did, when towers called different optimizers,
// or the same ones in another order. kInvalidArgument when the gradients of an update are absent in all towers.
TrainOp merge_tower_updates(const std::vector<const StepContext*>& towers);

// kInvalidArgument, naming the call, when the context recorded an update that `train_op` does not have (its result was
// dropped) or has twice, or when `train_op` has one of another step.
void check_complete(const TrainOp& train_op, const StepContext& context);

}  // namespace belfry
