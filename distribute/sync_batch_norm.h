// Batch normalization over the rows of all replicas.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace belfry {

class StepContext;

struct SyncBatchNormOptions {
  double momentum = 0.1;  // share of the new statistics in the running ones
  double eps = 1e-5;
};

// What at::batch_norm gives in training to the replicas' rows together: input [rows, channels, …], of which every
// replica may have another number of rows; weight, bias, running_mean and running_var [channels], each may be
// undefined. Mean and variance are those of all rows; running ones are moved in place, by the same amount in every
// replica (the variance by its unbiased estimate). Differentiable once: the gradient counts that rows of one replica
// move the statistics of all. A strict meeting of all replicas, forwards and backwards, named `what` in errors:
// kFailedPrecondition when they differ. Where none has a row, the running statistics stay. kUnimplemented for a tensor
// on a GPU.
//
// Statistics are combined from each replica's count, mean and sum of squared deviations (Chan, Golub, LeVeque 1983).
at::Tensor sync_batch_norm(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                           const at::Tensor& running_mean, const at::Tensor& running_var,
                           const SyncBatchNormOptions& options, StepContext& context, const std::string& what);

}  // namespace belfry
