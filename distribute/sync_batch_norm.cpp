#include "distribute/sync_batch_norm.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "core/error.h"
#include "distribute/step_context.h"

namespace belfry {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Everything but the channels.
std::vector<int64_t> reduced_dimensions(const at::Tensor& input) {
  std::vector<int64_t> dimensions{0};
  for (int64_t i = 2; i < input.dim(); ++i) dimensions.push_back(i);
  return dimensions;
}

// [channels] in the shape that broadcasts over `input`.
at::Tensor by_channel(const at::Tensor& values, const at::Tensor& input) {
  std::vector<int64_t> shape(static_cast<size_t>(input.dim()), 1);
  shape[1] = input.size(1);
  return values.to(input.scalar_type()).view(shape);
}

struct Statistics {
  at::Tensor mean;      // double, [channels]
  at::Tensor variance;  // double, [channels], biased
  double count;         // of values of one channel
};

Statistics statistics_of_all(const at::Tensor& input, StepContext& context, const std::string& what) {
  const double count = static_cast<double>(input.numel()) / static_cast<double>(input.size(1));
  const std::vector<int64_t> dimensions = reduced_dimensions(input);
  const at::Tensor values = input.to(at::promoteTypes(input.scalar_type(), at::kFloat));
  const int64_t channels = input.size(1);
  at::Tensor own = at::zeros({1 + 2 * channels}, at::kDouble);
  if (count > 0) {  // of no rows, which a mask may leave, mean and variance would not be numbers
    const auto [variance, mean] = at::var_mean(values, dimensions, /*correction=*/0, /*keepdim=*/false);
    own = at::cat({at::full({1}, count, at::kDouble), mean.to(at::kDouble), variance.to(at::kDouble) * count});
  }
  Statistics all{at::zeros({channels}, at::kDouble), at::zeros({channels}, at::kDouble), 0};
  const std::vector<at::Tensor> replicas = context.gather_towers(what, own);
  for (const at::Tensor& replica : replicas) all.count += replica[0].item<double>();
  if (all.count == 0) return all;
  for (const at::Tensor& replica : replicas) {
    all.mean.add_(replica.narrow(0, 1, channels), replica[0].item<double>() / all.count);
  }
  for (const at::Tensor& replica : replicas) {
    const at::Tensor apart = replica.narrow(0, 1, channels) - all.mean;
    all.variance.add_(replica.narrow(0, 1 + channels, channels) + replica[0] * apart.square());
  }
  all.variance.div_(all.count);
  return all;
}

void move_running(const std::optional<at::Tensor>& running, const at::Tensor& value, double momentum) {
  if (running) running->mul_(1 - momentum).add_(value.to(running->options()), momentum);
}

struct SyncBatchNorm : torch::autograd::Function<SyncBatchNorm> {
  using Optional = std::optional<at::Tensor>;

  static at::Tensor forward(AutogradContext* saved, const at::Tensor& input, const Optional& given_weight,
                            const Optional& given_bias, const Optional& running_mean, const Optional& running_var,
                            const SyncBatchNormOptions& options, StepContext* context, const std::string& what) {
    const at::Tensor weight = given_weight.value_or(at::Tensor());
    const at::Tensor bias = given_bias.value_or(at::Tensor());
    const Statistics all = statistics_of_all(input, *context, what);
    const at::Tensor inverse = (all.variance + options.eps).rsqrt();
    if (all.count > 0) {
      move_running(running_mean, all.mean, options.momentum);
      move_running(running_var, all.variance * (all.count / std::max(all.count - 1, 1.0)), options.momentum);
    }
    saved->save_for_backward({input, weight, all.mean, inverse});
    saved->saved_data["count"] = all.count;
    saved->saved_data["what"] = what;
    saved->saved_data["has_bias"] = bias.defined();
    const at::Tensor scale = weight.defined() ? inverse * weight : inverse;
    const at::Tensor shift = bias.defined() ? bias - all.mean * scale : -all.mean * scale;
    return input * by_channel(scale, input) + by_channel(shift, input);
  }

  static variable_list backward(AutogradContext* saved, variable_list gradients) {
    const variable_list kept = saved->get_saved_variables();
    const at::Tensor& input = kept[0];
    const at::Tensor& weight = kept[1];
    const at::Tensor& inverse = kept[3];
    const at::Tensor& gradient = gradients[0];
    const std::vector<int64_t> dimensions = reduced_dimensions(input);
    const at::Tensor normal = (input - by_channel(kept[2], input)) * by_channel(inverse, input);
    const at::Tensor own_sum = gradient.sum(dimensions).to(at::kDouble);
    const at::Tensor own_product = (gradient * normal).sum(dimensions).to(at::kDouble);
    const at::Tensor means = mean_of_all(at::stack({own_sum, own_product}), *saved);
    const at::Tensor scale = weight.defined() ? inverse * weight : inverse;
    const at::Tensor rest = gradient - by_channel(means[0], input) - normal * by_channel(means[1], input);
    variable_list result(8);
    result[0] = rest * by_channel(scale, input);
    if (weight.defined()) result[1] = own_product.to(weight.options());
    if (saved->saved_data["has_bias"].toBool()) result[2] = own_sum.to(input.scalar_type());
    return result;
  }

 private:
  static at::Tensor mean_of_all(const at::Tensor& own, AutogradContext& saved) {
    StepContext* context = StepContext::current();
    const std::string what = "the gradient of " + saved.saved_data["what"].toStringRef();
    if (!context) fail(ErrorKind::kFailedPrecondition, what, " is asked for outside the step that made it");
    at::Tensor sum = at::zeros_like(own);
    for (const at::Tensor& replica : context->gather_towers(what, own)) sum.add_(replica);
    return sum.div_(std::max(saved.saved_data["count"].toDouble(), 1.0));
  }
};

}  // namespace

at::Tensor sync_batch_norm(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                           const at::Tensor& running_mean, const at::Tensor& running_var,
                           const SyncBatchNormOptions& options, StepContext& context, const std::string& what) {
  require(input.dim() >= 2, what, ": the input has shape ", input.sizes(), "; [rows, channels, ...] is wanted");
  if (!input.is_cpu()) fail(ErrorKind::kUnimplemented, what, " of a tensor on ", input.device().str());
  const auto optional = [](const at::Tensor& tensor) {
    return tensor.defined() ? std::optional(tensor) : std::nullopt;
  };
  return SyncBatchNorm::apply(input, optional(weight), optional(bias), optional(running_mean), optional(running_var),
                              options, &context, concat(what, " of ", input.size(1), " channels"));
}

}  // namespace belfry
