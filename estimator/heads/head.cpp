#include "estimator/heads/head.h"

#include <ATen/ATen.h>

#include "core/error.h"
#include "estimator/losses/weighted_loss.h"
#include "estimator/metrics/means.h"

namespace belfry {
namespace {

void check_logits(const at::Tensor& logits, int64_t dimension) {
  require(logits.defined(), "head: the logits are an undefined tensor");
  require(logits.dim() == 2 && logits.size(1) == dimension && logits.is_floating_point(), "head: logits are ",
          logits.scalar_type(), " of shape ", logits.sizes(), "; floating point [batch, ", dimension, "] is wanted");
}

// Their sum; undefined when there are none.
at::Tensor regularization_of(const HeadSpecOptions& options) {
  at::Tensor sum;
  for (const at::Tensor& loss : options.regularization_losses) {
    require(loss.defined() && loss.numel() == 1, "head: a regularization loss is ",
            loss.defined() ? concat("of shape ", loss.sizes()) : std::string("undefined"), "; a scalar is wanted");
    sum = sum.defined() ? sum + loss.reshape({}) : loss.reshape({});
  }
  return sum;
}

}  // namespace

std::string Head::metric_key(const std::string& key) const { return name().empty() ? key : key + "/" + name(); }

EstimatorSpec Head::create_estimator_spec(const Features& features, ModeKeys mode, const at::Tensor& logits,
                                          const Labels& labels, const Optimizer& optimizer, ModelContext& ctx,
                                          const HeadSpecOptions& options, std::source_location where) const {
  const auto train_op_fn = [&](const at::Tensor& loss) {
    return optimizer.minimize(loss, ctx, {.var_list = options.trainable_variables}, where);
  };
  return create_estimator_spec(features, mode, logits, labels, TrainOpFn(train_op_fn), ctx, options, where);
}

EstimatorSpec Head::create_estimator_spec(const Features& features, ModeKeys mode, const at::Tensor& logits,
                                          const Labels& labels, const TrainOpFn& train_op_fn, ModelContext& ctx,
                                          const HeadSpecOptions& options, std::source_location where) const {
  check_logits(logits, logits_dimension());
  if (mode == ModeKeys::kPredict) return EstimatorSpec::predict(predictions(logits), export_outputs(logits));
  at::Tensor total = loss(features, labels, logits, ctx, where);
  const at::Tensor regularization = regularization_of(options);
  if (regularization.defined()) total = total + losses::penalty(regularization, ctx);
  if (mode == ModeKeys::kTrain) {
    require(static_cast<bool>(train_op_fn), "head: no train_op_fn was given, and the mode is TRAIN");
    return EstimatorSpec::train(total, train_op_fn(total));
  }
  EvalMetricOps ops = metrics(features, labels, logits);
  if (regularization.defined()) {
    ops.emplace_back(metric_key("regularization_loss"), belfry::metrics::mean(regularization));
  }
  return EstimatorSpec::eval(total, std::move(ops), {.predictions = eval_predictions(logits)});
}

}  // namespace belfry
