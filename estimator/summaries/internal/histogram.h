// A tensor's distribution, as TensorBoard wants it.
#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>

#include "belfry/core/event.pb.h"

namespace belfry::internal {

// Buckets of TensorFlow: 1e-12 * 1.1^i on both sides of zero; runs of empty ones are one bucket. kInvalidArgument, with
// the tag, for elements that are not finite, an undefined tensor, and complex ones. `values` must have elements.
proto::HistogramProto make_histogram(std::string_view tag, const at::Tensor& values);

}  // namespace belfry::internal
