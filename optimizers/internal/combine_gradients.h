// Adding up the gradients of towers.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "optimizers/train_op.h"

namespace belfry {
class StepContext;
}

namespace belfry::internal {

// The sum of the defined ones, in order, on the first one's device; undefined when none is. Row-sparse (sparse COO)
// ones are concatenated and their duplicate rows added up; beside a dense one they are added to it.
at::Tensor sum_gradients(const std::vector<at::Tensor>& gradients);

// Every tower's gradients summed, the same in all towers, each on its own device: in the order of `own`, then, by name,
// those of variables that only other towers have. A strict meeting of all towers, named `what` in errors.
GradientsAndVariables combine_over_towers(const GradientsAndVariables& own, StepContext& context,
                                          const std::string& what);

}  // namespace belfry::internal
