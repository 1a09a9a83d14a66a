// One model_fn on several devices.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "../estimator/losses/loss_reduction.h"
#include "../estimator/model_fn.h"

namespace belfry {

enum class TowerWeighting {
  // The step's loss, gradients and update are those of one device: w_i = rows_i / rows, and losses:: agree on their
  // denominators. See docs/towers.md for what is not exact: batch norm per tower, dropout, losses with denominators
  // of their own.
  kExact,
  // As tf.contrib did it: tower losses are added up under SUM and divided by the number of towers otherwise, whatever
  // their weights; the batch has to divide by the number of towers.
  kTensorFlow,
};

enum class TowerBatchNorm {
  // Every tower normalizes by its own rows; running statistics are the mean of the towers', weighted by rows.
  kPerTower,
  // By all rows of the batch, as one device does: torch::nn's BatchNorm modules and batch_norm functions in training
  // meet at each call, forwards and backwards, and every tower has to make the same calls. On the CPU.
  kSync,
};

struct ReplicateOptions {
  // kSum: the tower losses are added; else they are averaged by rows. Under kExact losses:: come out as on one device
  // with either; it matters for losses that the model_fn makes without losses::. kNone is kInvalidArgument.
  LossReduction loss_reduction = LossReduction::kSumByNonzeroWeights;
  // One tower each; a device may come several times. Empty: all GPUs, else the CPU.
  std::vector<std::string> devices = {};
  // Where variables are, with several devices. One copy of each in any case, and the same names and values.
  VariablePlacement variable_placement = VariablePlacement::kCentral;
  TowerWeighting weighting = TowerWeighting::kExact;
  TowerBatchNorm batch_norm = TowerBatchNorm::kPerTower;
  // Under kExact: towers that would get fewer rows than this stay idle.
  int64_t min_rows_per_tower = 1;
  // Entries of features and labels, or dicts nested in them, that every tower gets whole.
  std::vector<std::string> shared_entries = {};
};

// A model_fn that runs `model_fn` on a slice of the batch on every device, each on its own thread, and makes one spec
// of theirs: losses and gradients as TowerWeighting says; metrics merged exactly; predictions and export outputs
// concatenated; all else of tower 0. An export is a model of one tower. Features and labels are cut along dimension 0,
// the first rows mod N slices one row longer. With one device nothing is split, scaled or wrapped. Copyable; it may be
// called by several Estimators at once. `model_fn` itself is called by several threads at once: what it holds beside
// ctx must allow that.
//
// At once: kInvalidArgument for a reduction or device that cannot be. In a step: kInvalidArgument when entries differ
// in rows (both are named), when one runs inside another, or, under kTensorFlow, when the rows do not divide;
// kFailedPrecondition when towers make different optimizer calls, an optimizer is not a TowerOptimizer, or specs differ
// in kind (the tower is named). What a tower throws is thrown here, when all have ended.
ModelFn replicate_model_fn(ModelFn model_fn, ReplicateOptions options = {});
template <class F>
requires(internal::FullModelFn<F> || internal::LabelFreeModelFn<F>) ModelFn
    replicate_model_fn(F model_fn, ReplicateOptions options = {}) {
  return replicate_model_fn(make_model_fn(std::move(model_fn)), std::move(options));
}
// The same for a model_fn with a last argument, `params`, which is held by value.
template <class F, class P>
requires internal::ModelFnWithParams<F, P> ModelFn replicate_model_fn(F model_fn, P params,
                                                                      ReplicateOptions options = {}) {
  return replicate_model_fn(make_model_fn(std::move(model_fn), std::move(params)), std::move(options));
}

// The same as an argument for canned estimators and other subclasses of Estimator.
ModelFnTransform replicate(ReplicateOptions options = {});

}  // namespace belfry
