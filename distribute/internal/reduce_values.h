// Values of several replicas made one.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "distribute/reduce_op.h"

namespace belfry::internal {

// Along which dimensions; none: over replicas only.
using Axes = std::optional<std::vector<int64_t>>;

// The sum of the components in replica order on `device`, in their dtype; of row-sparse ones their rows one after
// another, duplicates kept. MEAN divides by their number; of integers it is float64, and half precision is added up in
// float32. kInvalidArgument, naming two replicas, where shapes or dtypes differ, and for bool. `what` begins the
// message.
at::Tensor reduce_over_replicas(const char* what, ReduceOp op, const std::vector<at::Tensor>& components,
                                at::Device device);

// With axes: every component is summed along them, then over replicas; MEAN divides by the elements along the axes of
// all replicas together, so that uneven pieces count by their size. Negative axes count from the end.
// kInvalidArgument, naming axis and shape, for one out of range or twice, and as above.
at::Tensor reduce_values(const char* what, ReduceOp op, const std::vector<at::Tensor>& components, const Axes& axes,
                         at::Device device);

// Concatenated along `axis`, in replica order. kInvalidArgument for scalars, an axis out of range, and shapes that
// differ elsewhere (two replicas are named); kUnimplemented for sparse ones.
at::Tensor gather_values(const char* what, const std::vector<at::Tensor>& components, int64_t axis, at::Device device);

}  // namespace belfry::internal
