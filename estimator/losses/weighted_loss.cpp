#include "estimator/losses/weighted_loss.h"

#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>

#include <cmath>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/log.h"
#include "estimator/losses/internal/unweighted_mean.h"

namespace belfry::losses {
namespace {

// Weights in the rank of the losses: a last dimension of 1 that one has and the other lacks is put in or taken out.
at::Tensor matching_weights(const at::Tensor& weights, const at::Tensor& values) {
  at::Tensor w = weights.to(values.device(), values.scalar_type());
  if (w.dim() == values.dim() + 1 && w.size(-1) == 1) w = w.squeeze(-1);
  if (w.dim() > 0 && w.dim() + 1 == values.dim() && values.size(-1) == 1) w = w.unsqueeze(-1);
  const bool fits = w.dim() == 0 || (w.dim() == values.dim() && at::is_expandable_to(w.sizes(), values.sizes()));
  require(fits, "weights of shape ", weights.sizes(), " do not fit losses of shape ", values.sizes());
  return w;
}

double host_sum(const at::Tensor& weights, int64_t entries) {
  const double each = static_cast<double>(entries) / static_cast<double>(std::max<int64_t>(1, weights.numel()));
  return weights.sum(at::kDouble).item<double>() * each;
}

double host_nonzeros(const at::Tensor& weights, int64_t entries) {
  const double each = static_cast<double>(entries) / static_cast<double>(std::max<int64_t>(1, weights.numel()));
  return static_cast<double>(weights.count_nonzero().item<int64_t>()) * each;
}

// This tower's part of the denominator: a host number where there are no weights.
double own_denominator(LossReduction reduction, const at::Tensor& weights, int64_t entries) {
  switch (reduction) {
    case LossReduction::kMean:
      return weights.defined() ? host_sum(weights.detach(), entries) : static_cast<double>(entries);
    case LossReduction::kSumByNonzeroWeights:
      return weights.defined() ? host_nonzeros(weights.detach(), entries) : static_cast<double>(entries);
    default:
      return static_cast<double>(entries);
  }
}

// Under the original's weighting the towers' losses are averaged, sums too. Said once for each place.
void warn_of_divided_sum(const LossPolicy& policy, const std::source_location& where) {
  if (policy.exact || policy.contribution >= 1) return;
  static std::mutex mutex;
  static std::set<std::pair<std::string, uint_least32_t>> told;
  {
    const std::lock_guard lock(mutex);
    if (!told.emplace(where.file_name(), where.line()).second) return;
  }
  log_warning("the loss at ", where.file_name(), ":", where.line(),
              " is a SUM, and the towers' losses are averaged: ", "the step's loss and gradient are ",
              policy.contribution,
              " of one device's. Give replicate_model_fn loss_reduction SUM, or TowerWeighting::kExact");
}

double whole_denominator(double own, StepContext& ctx, const std::source_location& where) {
  return ctx.loss_policy().exact ? ctx.sum_over_towers(own, where) : own;
}

}  // namespace
}  // namespace belfry::losses

namespace belfry::internal {

bool is_unweighted_mean(const LossOptions& options) {
  return !options.weights.defined() && options.reduction != LossReduction::kNone &&
         options.reduction != LossReduction::kSum;
}

namespace {

at::Tensor share_of_mean(const at::Tensor& mean, int64_t entries, StepContext& ctx, const std::source_location& where) {
  if (!ctx.loss_policy().exact) return mean;
  const double own = static_cast<double>(entries);
  const double share = own / (ctx.sum_over_towers(own, where) * ctx.loss_policy().contribution);
  // Rounding in the row weights must not cost an operation.
  return std::abs(share - 1) < 1e-14 ? mean : mean * share;
}

}  // namespace

at::Tensor unweighted_mean(const at::Tensor& mean, int64_t entries, StepContext& ctx,
                           const std::source_location& where) {
  at::Tensor loss = share_of_mean(mean, entries, ctx, where);
  ctx.record_loss("losses::", loss, where);
  return loss;
}

}  // namespace belfry::internal

namespace belfry::losses {

namespace {

at::Tensor reduce(const at::Tensor& values, StepContext& ctx, const LossOptions& options,
                  const std::source_location& where) {
  const at::Tensor weights = options.weights.defined() ? matching_weights(options.weights, values) : at::Tensor();
  const at::Tensor weighted = weights.defined() ? values * weights : values;
  if (options.reduction == LossReduction::kNone) return weighted;
  const at::Tensor numerator = weighted.sum();
  const double contribution = ctx.loss_policy().exact ? ctx.loss_policy().contribution : 1.0;
  if (options.reduction == LossReduction::kSum) {
    warn_of_divided_sum(ctx.loss_policy(), where);
    return contribution == 1.0 ? numerator : numerator / contribution;
  }
  const double own = own_denominator(options.reduction, weights, values.numel());
  const double denominator = whole_denominator(own, ctx, where) * contribution;
  return denominator == 0 ? numerator * 0 : numerator / denominator;
}

}  // namespace

at::Tensor compute_weighted_loss(const at::Tensor& values, StepContext& ctx, const LossOptions& options,
                                 std::source_location where) {
  require(is_valid(options.reduction), "compute_weighted_loss: ", static_cast<int>(options.reduction),
          " is not a LossReduction");
  if (internal::is_unweighted_mean(options) && values.numel() > 0) {
    return internal::unweighted_mean(values.mean(), values.numel(), ctx, where);
  }
  at::Tensor loss = reduce(values, ctx, options, where);
  if (options.reduction != LossReduction::kNone) ctx.record_loss("losses::", loss, where);
  return loss;
}

at::Tensor mean(const at::Tensor& values, StepContext& ctx, const at::Tensor& weights, std::source_location where) {
  return compute_weighted_loss(values, ctx, {.weights = weights, .reduction = LossReduction::kMean}, where);
}

at::Tensor penalty(const at::Tensor& value, StepContext& ctx) {
  const LossPolicy& policy = ctx.loss_policy();
  return policy.exact ? value * (policy.row_weight / policy.contribution) : value;
}

}  // namespace belfry::losses
