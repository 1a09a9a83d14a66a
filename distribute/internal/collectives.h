// What replicas make of each other's tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <vector>

#include "distribute/reduce_op.h"

namespace belfry {

class StepContext;

namespace internal {

// ReplicaContext::all_reduce and all_gather on a flat list of tensors, for several replicas. `what` names the call in
// errors and has to be the same in all replicas.
std::vector<at::Tensor> all_reduce(ReduceOp op, const std::vector<at::Tensor>& values, StepContext& context,
                                   const std::string& what, std::optional<double> timeout_seconds);
std::vector<at::Tensor> all_gather(const std::vector<at::Tensor>& values, int64_t axis, StepContext& context,
                                   const std::string& what, std::optional<double> timeout_seconds);

}  // namespace internal
}  // namespace belfry
