#include "estimator/estimator_spec.h"

#include <ATen/ATen.h>

#include <set>

#include "core/error.h"

namespace belfry {
namespace {

EstimatorSpec with_extras(ModeKeys mode, SpecExtras extras) {
  EstimatorSpec spec;
  spec.mode = mode;
  spec.predictions = std::move(extras.predictions);
  spec.eval_metric_ops = std::move(extras.eval_metric_ops);
  spec.export_outputs = std::move(extras.export_outputs);
  spec.training_hooks = std::move(extras.training_hooks);
  spec.training_chief_hooks = std::move(extras.training_chief_hooks);
  spec.evaluation_hooks = std::move(extras.evaluation_hooks);
  spec.prediction_hooks = std::move(extras.prediction_hooks);
  return spec;
}

void check_metrics(const EvalMetricOps& metrics) {
  std::set<std::string> names;
  for (const auto& [name, metric] : metrics) {
    require(name != "loss" && name != "global_step", "EstimatorSpec: a metric may not be named '", name,
            "': evaluate gives that itself");
    require(names.insert(name).second, "EstimatorSpec: the metric '", name, "' comes twice");
  }
}

void check_hooks(const char* field, const Hooks& hooks) {
  for (const auto& hook : hooks) require(hook != nullptr, "EstimatorSpec: ", field, " holds an absent hook");
}

}  // namespace

EstimatorSpec EstimatorSpec::train(const at::Tensor& loss, TrainOp train_op, SpecExtras extras) {
  EstimatorSpec spec = with_extras(ModeKeys::kTrain, std::move(extras));
  spec.loss = loss;
  spec.train_op = std::move(train_op);
  spec.validate();
  return spec;
}

EstimatorSpec EstimatorSpec::eval(const at::Tensor& loss, EvalMetricOps metrics, SpecExtras extras) {
  EstimatorSpec spec = with_extras(ModeKeys::kEval, std::move(extras));
  spec.loss = loss;
  spec.eval_metric_ops = std::move(metrics);
  spec.validate();
  return spec;
}

EstimatorSpec EstimatorSpec::predict(Predictions predictions, ExportOutputs export_outputs, SpecExtras extras) {
  EstimatorSpec spec = with_extras(ModeKeys::kPredict, std::move(extras));
  spec.predictions = std::move(predictions);
  spec.export_outputs = std::move(export_outputs);
  spec.validate();
  return spec;
}

void EstimatorSpec::validate() {
  require(mode == ModeKeys::kTrain || mode == ModeKeys::kEval || mode == ModeKeys::kPredict, "EstimatorSpec: mode ",
          static_cast<int>(mode), " is none of train, eval and infer");
  const std::string who = concat("EstimatorSpec for mode ", to_string(mode), ": ");
  require(mode == ModeKeys::kPredict || loss.defined(), who, "the loss is missing");
  require(mode != ModeKeys::kTrain || train_op.has_value(), who, "the train_op is missing");
  require(mode != ModeKeys::kPredict || !predictions.empty(), who, "the predictions are missing");
  if (loss.defined()) {
    require(loss.dim() == 0 || (loss.dim() == 1 && loss.size(0) == 1), who, "the loss has shape ", loss.sizes(),
            "; a scalar, or shape [1], is wanted");
    if (loss.dim() == 1) loss = loss.reshape({});
  }
  check_metrics(eval_metric_ops);
  if (!export_outputs.empty()) resolve_export_outputs(export_outputs, predictions);
  check_hooks("training_hooks", training_hooks);
  check_hooks("training_chief_hooks", training_chief_hooks);
  check_hooks("evaluation_hooks", evaluation_hooks);
  check_hooks("prediction_hooks", prediction_hooks);
}

EstimatorSpec EstimatorSpec::replace(const std::function<void(EstimatorSpec&)>& change) const {
  EstimatorSpec copy = *this;
  change(copy);
  require(copy.mode == mode, "EstimatorSpec: replace changed the mode from ", to_string(mode), " to ",
          to_string(copy.mode), "; make a new spec for another mode");
  copy.validate();
  return copy;
}

}  // namespace belfry
