// The network below a head: hidden layers and the dense layer to the logits.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace belfry {

class ModelContext;

// From the output of a layer to another tensor of the same shape.
using ActivationFn = std::function<at::Tensor(const at::Tensor&)>;

struct DnnOptions {
  // Units of each hidden layer, from the input up; none: the logits are linear.
  std::vector<int64_t> hidden_units = {};
  // Empty: relu.
  ActivationFn activation_fn = {};
  // The share of each layer's output that is dropped in training, in [0, 1).
  double dropout = 0;
  // Batch normalization behind each hidden layer.
  bool batch_norm = false;

  // kInvalidArgument, beginning with `user` and naming option and value, for what cannot be right.
  void validate(const std::string& user) const;
};

// Logits, float32 [batch, logits_dimension], of x, float32 [batch, inputs]. Each hidden layer is dense (Glorot-uniform
// kernel, zero bias), activation, dropout, batch normalization (momentum 0.999, epsilon 0.001); then dense. Variables
// lie below `name` with the names and layouts of tf.estimator: NAME/hiddenlayer_0/kernel [in, out], NAME/logits/bias.
// In training, summaries of each layer's output: NAME/hiddenlayer_0/activation (a histogram) and .../
// fraction_of_zero_values.
// What ModelContext::module says of its callers' threads holds; kInvalidArgument for options that cannot be right, and
// for an activation_fn that changes the shape.
at::Tensor dnn_logits(const at::Tensor& x, int64_t logits_dimension, const DnnOptions& options, ModelContext& ctx,
                      const std::string& name = "dnn");

}  // namespace belfry
