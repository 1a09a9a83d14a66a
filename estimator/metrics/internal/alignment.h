// Brings labels, predictions and weights to one shape, by TensorFlow's rules for metrics and losses.
#pragma once

#include <ATen/core/Tensor.h>

namespace belfry::internal {

struct Pair {
  at::Tensor labels;
  at::Tensor predictions;
};

// [n] against [n, 1], either way round, becomes [n]; then shapes have to be the same: kInvalidArgument with `metric`
// and both shapes, and for an undefined tensor. Detached, predictions on the device of the labels.
Pair align(const char* metric, const at::Tensor& labels, const at::Tensor& predictions);

// float64 weights in the shape of `values`: ones when undefined, else broadcast. A
// scalar fits all; one dimension of size 1 may be missing or too many at the end; any other has size 1 or that of
// `values`. kInvalidArgument with both shapes otherwise.
at::Tensor weights_like(const char* metric, const at::Tensor& values, const at::Tensor& weights);

// float64, detached.
at::Tensor to_double(const at::Tensor& values);

// a / b, and 0 where b is 0, as all metrics of TensorFlow.
at::Tensor divide_no_nan(const at::Tensor& a, const at::Tensor& b);

}  // namespace belfry::internal
