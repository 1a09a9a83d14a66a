// What a model_fn returns.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../core/tensor_dict.h"
#include "../export/export_output.h"
#include "../optimizers/train_op.h"
#include "metrics/metric.h"
#include "mode_keys.h"

namespace belfry {

class SessionRunHook;
using Hooks = std::vector<std::shared_ptr<SessionRunHook>>;

// Metric name to the metric of this batch, in order.
using EvalMetricOps = std::vector<std::pair<std::string, Metric>>;

// The parts of a spec that its mode does not ask for.
struct SpecExtras {
  Predictions predictions = {};  // beside a loss
  EvalMetricOps eval_metric_ops = {};
  ExportOutputs export_outputs = {};
  Hooks training_hooks = {};
  Hooks training_chief_hooks = {};
  Hooks evaluation_hooks = {};
  Hooks prediction_hooks = {};
};

// A value. Made by train(), eval() or predict(), which check what their mode wants; one made by hand is checked when
// the Estimator gets it.
struct EstimatorSpec {
  ModeKeys mode = ModeKeys::kPredict;
  at::Tensor loss;                  // scalar
  std::optional<TrainOp> train_op;  // TRAIN
  Predictions predictions;
  EvalMetricOps eval_metric_ops;
  ExportOutputs export_outputs;
  // Taken from the first call of the model_fn in a train, evaluate or predict call.
  Hooks training_hooks;
  Hooks training_chief_hooks;
  Hooks evaluation_hooks;
  Hooks prediction_hooks;
  // The loss of each tower before it is weighted, for messages; filled by replicate_model_fn.
  std::vector<at::Tensor> tower_losses;

  // `loss` is a scalar, or of shape [1] and made one.
  static EstimatorSpec train(const at::Tensor& loss, TrainOp train_op, SpecExtras extras = {});
  static EstimatorSpec eval(const at::Tensor& loss, EvalMetricOps metrics = {}, SpecExtras extras = {});
  static EstimatorSpec predict(Predictions predictions, ExportOutputs export_outputs = {}, SpecExtras extras = {});

  // kInvalidArgument, naming mode and field: a loss or train op that is missing, a loss that is not one number,
  // predictions that are missing, a metric named loss or global_step or named twice, several export outputs without
  // serving_default, an absent hook. Makes a loss of shape [1] a scalar.
  void validate();

  // A checked copy of this in which `change` has changed something; kInvalidArgument when that is the mode.
  EstimatorSpec replace(const std::function<void(EstimatorSpec&)>& change) const;
};

}  // namespace belfry
