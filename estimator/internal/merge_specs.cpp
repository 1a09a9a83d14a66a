#include "estimator/internal/merge_specs.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "estimator/internal/merge_exports.h"
#include "estimator/internal/named_tower.h"

namespace belfry::internal {
namespace {

// The names in alphabetical order: towers may have them in any.
template <class Named>
std::string names_of(const Named& named) {
  std::set<std::string> names;
  for (const auto& entry : named) names.insert(entry.first);
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return "(" + text + ")";
}

void require_same(const NamedTower& which, const std::string& has, const std::string& first_has) {
  if (has == first_has) return;
  fail(ErrorKind::kFailedPrecondition, which, " has ", has, " and ", which.first(), " has ", first_has, ": every ",
       which.noun, " has to return the same kind of EstimatorSpec");
}

// Hooks of tower 0 alone run: one that another tower has more of would vanish. Fewer are fine: a model_fn may well make
// them in tower 0 only.
void check_hooks(const NamedTower& which, const EstimatorSpec& spec, const EstimatorSpec& first) {
  const std::pair<const char*, Hooks EstimatorSpec::*> fields[] = {
      {" training_hooks", &EstimatorSpec::training_hooks},
      {" training_chief_hooks", &EstimatorSpec::training_chief_hooks},
      {" evaluation_hooks", &EstimatorSpec::evaluation_hooks},
      {" prediction_hooks", &EstimatorSpec::prediction_hooks}};
  for (const auto& [name, hooks] : fields) {
    if ((spec.*hooks).size() <= (first.*hooks).size()) continue;
    require_same(which, concat((spec.*hooks).size(), name), concat((first.*hooks).size(), name));
  }
}

void check_alike(const std::vector<TowerResult>& towers, const std::string& noun) {
  const auto loss = [](const EstimatorSpec& spec) { return spec.loss.defined() ? "a loss" : "no loss"; };
  const auto train_op = [](const EstimatorSpec& spec) { return spec.train_op ? "a train_op" : "no train_op"; };
  const EstimatorSpec& first = towers[0].spec;
  for (size_t i = 1; i < towers.size(); ++i) {
    const EstimatorSpec& spec = towers[i].spec;
    const NamedTower which{noun, i};
    require_same(which, concat("mode ", to_string(spec.mode)), concat("mode ", to_string(first.mode)));
    require_same(which, loss(spec), loss(first));
    require_same(which, train_op(spec), train_op(first));
    require_same(which, "predictions " + names_of(spec.predictions), "predictions " + names_of(first.predictions));
    require_same(which, "metrics " + names_of(spec.eval_metric_ops), "metrics " + names_of(first.eval_metric_ops));
    check_hooks(which, spec, first);
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

// check_alike() has seen that it is there.
const Metric& metric_named(const EvalMetricOps& metrics, const std::string& name) {
  return std::find_if(metrics.begin(), metrics.end(), [&](const auto& entry) { return entry.first == name; })->second;
}

void merge_metric(Metric& metric, const Metric& other, const std::string& name, const NamedTower& which) {
  try {
    metric.merge(other);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInvalidArgument) throw;
    fail(ErrorKind::kFailedPrecondition, "the metric '", name, "' of ", which, " does not merge with ", which.first(),
         "'s: ", error.what());
  }
}

EvalMetricOps merge_metrics(const std::vector<TowerResult>& towers, const std::string& noun) {
  EvalMetricOps merged;
  for (const auto& [name, first] : towers[0].spec.eval_metric_ops) {
    Metric metric = first;
    metric.set_rows(static_cast<double>(towers[0].rows));
    for (size_t i = 1; i < towers.size(); ++i) {
      Metric other = metric_named(towers[i].spec.eval_metric_ops, name);
      other.set_rows(static_cast<double>(towers[i].rows));
      merge_metric(metric, other, name, {noun, i});
    }
    merged.emplace_back(name, std::move(metric));
  }
  return merged;
}

}  // namespace

EstimatorSpec merge_specs(std::vector<TowerResult> towers, const std::string& noun) {
  check_alike(towers, noun);
  EstimatorSpec merged = towers[0].spec;
  if (merged.loss.defined()) merged.loss = merge_losses(towers);
  merged.eval_metric_ops = merge_metrics(towers, noun);
  std::vector<Predictions> predictions;
  std::vector<ExportOutputs> exports;
  for (TowerResult& tower : towers) {
    if (tower.spec.loss.defined()) merged.tower_losses.push_back(tower.spec.loss.detach());
    predictions.push_back(std::move(tower.spec.predictions));
    exports.push_back(std::move(tower.spec.export_outputs));
  }
  merged.predictions = merge_predictions(predictions, noun);
  merged.export_outputs = merge_exports(exports, noun);
  return merged;
}

}  // namespace belfry::internal
