// What replicas make of each other's tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "distribute/communication_options.h"
#include "distribute/reduce_op.h"

namespace belfry {

class StepContext;

namespace internal {

// ReplicaContext::all_reduce and all_gather on a flat list of tensors, for several replicas. `what` names the call in
// errors and has to be the same in all replicas; `options` are the call's and the strategy's together. Sums go by NCCL
// where it is allowed and every replica's tensors are dense floats on a GPU of its own: replica 0's thread then makes
// one call for all GPUs, or one for each pack.
std::vector<at::Tensor> all_reduce(ReduceOp op, const std::vector<at::Tensor>& values, StepContext& context,
                                   const std::string& what, const CommunicationOptions& options);
std::vector<at::Tensor> all_gather(const std::vector<at::Tensor>& values, int64_t axis, StepContext& context,
                                   const std::string& what, const CommunicationOptions& options);

}  // namespace internal
}  // namespace belfry
