// Adding up the towers' gradients of many variables at once.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

#include "optimizers/internal/target.h"

namespace belfry::internal {

// Writes the sum of the parts to parts[root].
using SumParts = std::function<void(std::vector<at::Tensor>& parts, size_t root)>;

// Replaces the gradients of each target, which are dense, as many for all and for tower k all on one device, by their
// sum, on the variable's device and in its layout: one call of `sum` for each dtype and device of variables, and one
// copy, through pinned memory, where the variables are on the host.
void reduce_flat(const std::vector<Target*>& targets, const SumParts& sum);

// reduce_flat by NCCL, for those targets whose every tower (there are `towers`) has a dense gradient on a GPU of its
// own. All others are left as they are. Says what it does with gradients on GPUs, for the log; empty when there is
// nothing to add up or no GPU.
std::string reduce_over_gpus(std::vector<Target>& targets, size_t towers);

}  // namespace belfry::internal
