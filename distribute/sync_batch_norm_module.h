// Batch normalization over the rows of all replicas, as a module.
#pragma once

#include <torch/nn/modules/batchnorm.h>

namespace belfry {

// torch::nn::BatchNorm1d, 2d and 3d in one, for inputs [rows, channels, ...], with the same options, parameters and
// buffers. In training on several replicas (towers, or a strategy's) all rows of the step make the statistics, as on
// one device; every replica has to call it, one without rows too. A lone value of a channel is its own mean. Everywhere
// else it is LibTorch's. See sync_batch_norm
// for errors.
class SyncBatchNormImpl : public torch::nn::BatchNormImplBase<1, SyncBatchNormImpl> {
 public:
  using torch::nn::BatchNormImplBase<1, SyncBatchNormImpl>::BatchNormImplBase;

  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override;

 private:
  void _check_input_dim(const at::Tensor& input) override;
};
TORCH_MODULE(SyncBatchNorm);

}  // namespace belfry
