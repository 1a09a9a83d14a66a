#include "estimator/canned/internal/dnn.h"

#include <ATen/ATen.h>

#include <cmath>
#include <string>

#include "core/error.h"

namespace belfry::internal {
namespace {

constexpr double kMomentum = 0.999;
constexpr double kEpsilon = 0.001;

at::Tensor glorot_uniform(int64_t in, int64_t out) {
  const double limit = std::sqrt(6.0 / static_cast<double>(in + out));
  return at::empty({in, out}, at::kFloat).uniform_(-limit, limit);
}

}  // namespace

DenseLayer::DenseLayer(int64_t in, int64_t out)
    : kernel_(register_parameter("kernel", glorot_uniform(in, out))),
      bias_(register_parameter("bias", at::zeros({out}, at::kFloat))) {}

at::Tensor DenseLayer::forward(const at::Tensor& x) const { return at::addmm(bias_, x, kernel_); }

ColumnBatchNorm::ColumnBatchNorm(int64_t columns)
    : gamma_(register_parameter("gamma", at::ones({columns}, at::kFloat))),
      beta_(register_parameter("beta", at::zeros({columns}, at::kFloat))),
      moving_mean_(register_buffer("moving_mean", at::zeros({columns}, at::kFloat))),
      moving_variance_(register_buffer("moving_variance", at::ones({columns}, at::kFloat))) {}

at::Tensor ColumnBatchNorm::forward(const at::Tensor& x) {
  if (!is_training()) {
    return at::batch_norm(x, gamma_, beta_, moving_mean_, moving_variance_, /*training=*/false, /*momentum=*/0.0,
                          kEpsilon, /*cudnn_enabled=*/false);
  }
  {
    const at::NoGradGuard no_grad;
    const auto [variance, mean] = at::var_mean(x, at::IntArrayRef{0}, /*unbiased=*/false);
    moving_mean_.lerp_(mean, 1 - kMomentum);
    moving_variance_.lerp_(variance, 1 - kMomentum);
  }
  return at::batch_norm(x, gamma_, beta_, {}, {}, /*training=*/true, /*momentum=*/0.0, kEpsilon,
                        /*cudnn_enabled=*/false);
}

HiddenLayer::HiddenLayer(int64_t index, int64_t in, int64_t out, const DnnOptions& options)
    : DenseLayer(in, out), activation_fn_(options.activation_fn), dropout_(options.dropout) {
  if (!options.batch_norm) return;
  batch_norm_ = register_module("batchnorm_" + std::to_string(index), std::make_shared<ColumnBatchNorm>(out));
}

at::Tensor HiddenLayer::forward(const at::Tensor& x) {
  const at::Tensor dense = DenseLayer::forward(x);
  at::Tensor y = activation_fn_ ? activation_fn_(dense) : at::relu(dense);
  require(y.defined() && y.sizes() == dense.sizes(), "activation_fn made ",
          y.defined() ? concat(y.sizes()) : std::string("nothing"), " of ", dense.sizes(), "; the shape has to stay");
  if (dropout_ > 0 && is_training()) y = at::dropout(y, dropout_, /*train=*/true);
  return batch_norm_ ? batch_norm_->forward(y) : y;
}

Dnn::Dnn(int64_t inputs, const DnnOptions& options, int64_t logits_dimension) {
  int64_t width = inputs;
  for (size_t i = 0; i < options.hidden_units.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    auto layer = std::make_shared<HiddenLayer>(index, width, options.hidden_units[i], options);
    hidden_layers_.push_back(register_module("hiddenlayer_" + std::to_string(index), std::move(layer)));
    width = options.hidden_units[i];
  }
  logits_ = register_module("logits", std::make_shared<DenseLayer>(width, logits_dimension));
}

at::Tensor Dnn::forward(const at::Tensor& x, const std::function<void(const std::string&, const at::Tensor&)>& look) {
  at::Tensor y = x;
  for (size_t i = 0; i < hidden_layers_.size(); ++i) {
    y = hidden_layers_[i]->forward(y);
    if (look) look("hiddenlayer_" + std::to_string(i), y);
  }
  y = logits_->forward(y);
  if (look) look("logits", y);
  return y;
}

}  // namespace belfry::internal
