// Means and errors of numbers.
//
// Of all functions of metrics:: holds: labels and predictions have one shape, [n] and [n, 1] count as the same; any
// dtype of numbers; weights are ones when left out, a scalar, of the shape of the values, or with sizes 1 to broadcast
// ([n] fits [n, d], one weight a row). kInvalidArgument names the metric and both shapes. A metric over weights of sum
// 0 is 0. Sums are kept in float64, on the device of the labels. Values are not differentiated. Formulas are those of
// tf.compat.v1.metrics and of Keras's metrics of the same names (TensorFlow 2.15). Threads may call all of them.
#pragma once

#include <ATen/core/Tensor.h>

#include "metric.h"

namespace belfry::metrics {

Metric mean(const at::Tensor& values, const at::Tensor& weights = {});
Metric sum(const at::Tensor& values, const at::Tensor& weights = {});

Metric mean_squared_error(const at::Tensor& labels, const at::Tensor& predictions, const at::Tensor& weights = {});
Metric root_mean_squared_error(const at::Tensor& labels, const at::Tensor& predictions, const at::Tensor& weights = {});
Metric mean_absolute_error(const at::Tensor& labels, const at::Tensor& predictions, const at::Tensor& weights = {});
// The mean of |labels - predictions| / normalizer, 0 where the normalizer is 0. It has the shape of the labels.
Metric mean_relative_error(const at::Tensor& labels, const at::Tensor& predictions, const at::Tensor& normalizer,
                           const at::Tensor& weights = {});
// The share of values that lie below the threshold.
Metric percentage_below(const at::Tensor& values, double threshold, const at::Tensor& weights = {});

}  // namespace belfry::metrics
