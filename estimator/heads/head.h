// What stands on top of a model's logits: its loss, predictions, metrics and export.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../optimizers/optimizer.h"
#include "../estimator_spec.h"
#include "../losses/loss_reduction.h"
#include "../model_context.h"

namespace belfry {

// The loss of each row, [batch] or [batch, 1], in place of a head's own: a function of labels and logits, those that
// the head's own loss would get, or of labels, logits and features.
class HeadLossFn {
 public:
  using Function = std::function<at::Tensor(const at::Tensor& labels, const at::Tensor& logits, const Features&)>;

  HeadLossFn() = default;
  template <class F>
  requires std::is_invocable_r_v<at::Tensor, F&, const at::Tensor&, const at::Tensor&, const Features&> HeadLossFn(
      F function)
      : function_(std::move(function)) {}  // NOLINT(google-explicit-constructor)
  template <class F>
  requires std::is_invocable_r_v<at::Tensor, F&, const at::Tensor&, const at::Tensor&> &&
      (!std::is_invocable_v<F&, const at::Tensor&, const at::Tensor&, const Features&>)
          HeadLossFn(F function)  // NOLINT(google-explicit-constructor)
      : function_([function = std::move(function)](const at::Tensor& labels, const at::Tensor& logits,
                                                   const Features&) mutable { return function(labels, logits); }) {}

  explicit operator bool() const { return static_cast<bool>(function_); }
  at::Tensor operator()(const at::Tensor& labels, const at::Tensor& logits, const Features& features) const {
    return function_(labels, logits, features);
  }

 private:
  Function function_;
};
// From the training loss to the step's updates.
using TrainOpFn = std::function<TrainOp(const at::Tensor& loss)>;

struct HeadSpecOptions {
  // Scalars that do not depend on the batch. They are added to the loss (counted once, whatever the number of towers)
  // and evaluated as "regularization_loss".
  std::vector<at::Tensor> regularization_losses = {};
  // Names of the variables that the optimizer moves; empty: all.
  std::vector<std::string> trainable_variables = {};
};

// Subclass it for a head of your own: the six functions below, and create_estimator_spec makes the spec of each mode
// from them. Logits are [batch, logits_dimension()]. Immutable; towers call one object from several threads at once.
//
// After the heads of tf.estimator 2.15 (numbers, names of metrics, predictions and signatures).
class Head {
 public:
  virtual ~Head() = default;

  // Empty, or the suffix of the metrics: "accuracy/NAME".
  virtual std::string name() const = 0;
  virtual int64_t logits_dimension() const = 0;
  virtual LossReduction loss_reduction() const = 0;
  // The loss of the batch, a scalar. Goes through losses::compute_weighted_loss with `where`, the place of the call in
  // the model_fn, by which towers meet: two heads of one model_fn must not be taken for one another.
  virtual at::Tensor loss(const Features& features, const Labels& labels, const at::Tensor& logits, ModelContext& ctx,
                          std::source_location where = std::source_location::current()) const = 0;
  virtual Predictions predictions(const at::Tensor& logits) const = 0;
  // What the spec of an evaluation has of them, for hooks that log. The classification heads leave strings out.
  virtual Predictions eval_predictions(const at::Tensor& logits) const { return predictions(logits); }
  virtual EvalMetricOps metrics(const Features& features, const Labels& labels, const at::Tensor& logits) const = 0;
  virtual ExportOutputs export_outputs(const at::Tensor& logits) const = 0;

  // PREDICT: predictions and export outputs. EVAL: loss, metrics and eval_predictions. TRAIN: the loss and what
  // `optimizer` does with it; predictions would cost time and are left out. kInvalidArgument, naming head and shape,
  // for logits of another shape or dtype; what loss() says of labels.
  EstimatorSpec create_estimator_spec(const Features& features, ModeKeys mode, const at::Tensor& logits,
                                      const Labels& labels, const Optimizer& optimizer, ModelContext& ctx,
                                      const HeadSpecOptions& options = {},
                                      std::source_location where = std::source_location::current()) const;
  // For several optimizers, or clipped gradients.
  EstimatorSpec create_estimator_spec(const Features& features, ModeKeys mode, const at::Tensor& logits,
                                      const Labels& labels, const TrainOpFn& train_op_fn, ModelContext& ctx,
                                      const HeadSpecOptions& options = {},
                                      std::source_location where = std::source_location::current()) const;

 protected:
  // "KEY/NAME", or the key alone.
  std::string metric_key(const std::string& key) const;
};

}  // namespace belfry
