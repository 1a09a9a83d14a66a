// Metrics whose states are sums: all of TensorFlow's.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>

#include "../metric.h"

namespace belfry::internal {

using Reader = std::function<at::Tensor(const MetricFunction::States&)>;

// A metric that merges by adding states and is read by `reader`. `name` must name every setting that `reader` holds.
Metric summed_metric(std::string name, MetricFunction::States states, Reader reader);

// sum(values * weights) / sum(weights), and 0 when that is 0. `weights` as weights_like takes them; `values` detached.
Metric ratio_metric(const char* name, const at::Tensor& values, const at::Tensor& weights);

}  // namespace belfry::internal
