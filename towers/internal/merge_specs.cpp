#include "towers/internal/merge_specs.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/error.h"
#include "towers/internal/merge_exports.h"

namespace belfry::internal {
namespace {

void require_same(bool same, size_t tower, const char* what) {
  if (!same)
    fail(ErrorKind::kFailedPrecondition, "tower ", tower, " differs from tower 0 in ", what, " of its EstimatorSpec");
}

bool same_names(const TensorDict& a, const TensorDict& b) {
  return a.size() == b.size() &&
         std::all_of(a.begin(), a.end(), [&](const auto& entry) { return b.contains(entry.first); });
}

void check_alike(const std::vector<TowerResult>& towers) {
  const EstimatorSpec& first = towers[0].spec;
  for (size_t i = 1; i < towers.size(); ++i) {
    const EstimatorSpec& spec = towers[i].spec;
    require_same(spec.mode == first.mode, i, "the mode");
    require_same(spec.loss.defined() == first.loss.defined(), i, "having a loss or not");
    require_same(spec.train_op.has_value() == first.train_op.has_value(), i, "having a train_op or not");
    require_same(same_names(spec.predictions, first.predictions), i, "the names of the predictions");
    require_same(spec.eval_metric_ops.size() == first.eval_metric_ops.size(), i, "the number of metrics");
  }
}

at::Tensor merge_losses(const std::vector<TowerResult>& towers) {
  at::Tensor sum;
  for (const TowerResult& tower : towers) {
    at::Tensor part = tower.spec.loss.detach() * tower.policy.contribution;
    if (sum.defined() && part.device() != sum.device()) {
      sum = sum.cpu();
      part = part.cpu();
    }
    sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

const Metric& metric_named(const EvalMetricOps& metrics, const std::string& name, size_t tower) {
  for (const auto& [known, metric] : metrics) {
    if (known == name) return metric;
  }
  fail(ErrorKind::kFailedPrecondition, "tower ", tower, " has no metric '", name, "', which tower 0 has");
}

EvalMetricOps merge_metrics(const std::vector<TowerResult>& towers) {
  EvalMetricOps merged;
  for (const auto& [name, first] : towers[0].spec.eval_metric_ops) {
    Metric metric = first;
    metric.set_rows(static_cast<double>(towers[0].rows));
    for (size_t i = 1; i < towers.size(); ++i) {
      Metric other = metric_named(towers[i].spec.eval_metric_ops, name, i);
      other.set_rows(static_cast<double>(towers[i].rows));
      metric.merge(other);
    }
    merged.emplace_back(name, std::move(metric));
  }
  return merged;
}

}  // namespace

EstimatorSpec merge_specs(std::vector<TowerResult> towers) {
  check_alike(towers);
  EstimatorSpec merged = towers[0].spec;
  if (merged.loss.defined()) merged.loss = merge_losses(towers);
  merged.eval_metric_ops = merge_metrics(towers);
  std::vector<Predictions> predictions;
  std::vector<ExportOutputs> exports;
  for (TowerResult& tower : towers) {
    if (tower.spec.loss.defined()) merged.tower_losses.push_back(tower.spec.loss.detach());
    predictions.push_back(std::move(tower.spec.predictions));
    exports.push_back(std::move(tower.spec.export_outputs));
  }
  merged.predictions = merge_predictions(predictions);
  merged.export_outputs = merge_exports(exports);
  return merged;
}

}  // namespace belfry::internal
