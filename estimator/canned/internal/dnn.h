// The modules of dnn_logits.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "estimator/canned/dnn.h"

namespace belfry::internal {

// x kernel + bias, with kernel [in, out] (Glorot uniform: within sqrt(6 / (in + out))) and bias [out] (zeros).
class DenseLayer : public torch::nn::Module {
 public:
  DenseLayer(int64_t in, int64_t out);
  at::Tensor forward(const at::Tensor& x) const;

 private:
  at::Tensor kernel_;
  at::Tensor bias_;
};

// Batch normalization of columns as Keras does it: the moving variance takes in the biased variance of the batch, and
// momentum is the share that stays (0.999; epsilon is 0.001).
class ColumnBatchNorm : public torch::nn::Module {
 public:
  explicit ColumnBatchNorm(int64_t columns);
  at::Tensor forward(const at::Tensor& x);

 private:
  at::Tensor gamma_;
  at::Tensor beta_;
  at::Tensor moving_mean_;
  at::Tensor moving_variance_;
};

class HiddenLayer : public DenseLayer {
 public:
  HiddenLayer(int64_t index, int64_t in, int64_t out, const DnnOptions& options);
  at::Tensor forward(const at::Tensor& x);

 private:
  const ActivationFn activation_fn_;
  const double dropout_;
  std::shared_ptr<ColumnBatchNorm> batch_norm_;
};

// Parameters are hiddenlayer_I.kernel and so on, as below "dnn/" in tf.estimator.
class Dnn : public torch::nn::Module {
 public:
  Dnn(int64_t inputs, const DnnOptions& options, int64_t logits_dimension);
  // [batch, inputs] to [batch, logits_dimension]. Each layer's name and output go to `look`, if there is one.
  at::Tensor forward(const at::Tensor& x, const std::function<void(const std::string&, const at::Tensor&)>& look);

 private:
  std::vector<std::shared_ptr<HiddenLayer>> hidden_layers_;
  std::shared_ptr<DenseLayer> logits_;
};

}  // namespace belfry::internal
