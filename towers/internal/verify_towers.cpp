#include "towers/internal/verify_towers.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/error.h"
#include "distribute/random_scope.h"
#include "estimator/model_context.h"
#include "optimizers/internal/combine_gradients.h"
#include "optimizers/merge_updates.h"
#include "optimizers/optimizer.h"

namespace belfry::internal {
namespace {

constexpr const char* kSpecLoss = "the EstimatorSpec's loss";
constexpr const char* kAdvice =
    ". What towers can make exact are losses::, losses::mean for masked means, losses::penalty for regularizers, "
    "ctx.global_sum for what is not linear, and batch_norm = kSync";

std::map<std::string, double> sums_of(const std::vector<const StepContext*>& contexts,
                                      const std::vector<TowerResult>& towers) {
  std::map<std::string, double> sums;
  for (size_t i = 0; i < contexts.size(); ++i) {
    const double contribution = towers[i].policy.contribution;
    for (const auto& [label, value] : contexts[i]->recorded_losses()) sums[label] += contribution * value;
    sums[kSpecLoss] += contribution * towers[i].spec.loss.item<double>();
  }
  return sums;
}

bool agrees(double a, double b, double tolerance) {
  const double largest = std::max(std::abs(a), std::abs(b));
  return !(std::abs(a - b) > tolerance * std::max(largest, 1e-3));
}

// Losses come in the order in which they are made: the first that differs is the cause of others.
void compare_losses(const LoneStep& alone, const std::map<std::string, double>& towers, double tolerance) {
  for (const auto& [label, value] : alone.losses) {
    const auto found = towers.find(label);
    const double sum = found == towers.end() ? 0 : found->second;
    if (agrees(value, sum, tolerance)) continue;
    const bool made_by_losses = label.find("losses::") != std::string::npos;
    fail(ErrorKind::kFailedPrecondition, "verify_towers_every: ", label, " is ", value, " on one device and ", sum,
         " over the towers: ",
         made_by_losses ? "what it is given depends on which rows a tower has"
                        : "every loss of losses:: in it agrees, so that it is what is added to them, or done to them",
         kAdvice);
  }
}

std::map<const Variable*, at::Tensor> sums_of(const std::vector<GradientsAndVariables>& towers) {
  std::map<const Variable*, std::vector<at::Tensor>> parts;
  for (const GradientsAndVariables& tower : towers) {
    for (const GradientAndVariable& entry : tower) {
      if (!entry.gradient.defined()) continue;
      std::vector<at::Tensor>& known = parts[entry.variable];
      if (!entry.combined || known.empty()) known.push_back(entry.gradient.cpu());
    }
  }
  std::map<const Variable*, at::Tensor> sums;
  for (const auto& [variable, gradients] : parts) sums[variable] = sum_gradients(gradients).to_dense();
  return sums;
}

void compare_gradients(const GradientsAndVariables& alone, const PendingUpdate& update, double tolerance) {
  const std::map<const Variable*, at::Tensor> sums = sums_of(update.gradients);
  for (const GradientAndVariable& entry : alone) {
    const auto found = sums.find(entry.variable);
    const bool both = entry.gradient.defined() && found != sums.end();
    if (!entry.gradient.defined() && found == sums.end()) continue;
    const at::Tensor one = both ? entry.gradient.cpu().to_dense() : at::Tensor();
    const double difference = both ? (one - found->second).abs().max().item<double>() : 0;
    if (both && !(difference > tolerance * std::max(one.abs().max().item<double>(), 1e-3))) continue;
    fail(ErrorKind::kFailedPrecondition, "verify_towers_every: the gradient of variable '", entry.variable->name(),
         "' for ", update.description(), " differs between one device and the towers",
         both ? concat(" by as much as ", difference, " (the largest entry is ", one.abs().max().item<double>(), ")")
              : concat(": ", entry.gradient.defined() ? "the towers have" : "one device has", " none"),
         ", though the losses agree", kAdvice);
  }
}

}  // namespace

std::optional<LoneStep> run_alone(const ModelFn& model_fn, const Features& features, const Labels& labels,
                                  ModelContext& ctx) {
  StepContext::Options options;
  options.training = true;
  options.batch_number = ctx.batch_number();
  options.tower_optimizer_wanted = true;
  options.record_losses = true;
  ModelContext alone(ctx.replicas(), 0, ModeKeys::kTrain, ctx.config(), options);
  LoneStep step;
  const StepScope scope(alone);
  const RandomScope random(alone.random_seed());
  EstimatorSpec spec;
  try {
    spec = model_fn(features, labels, ModeKeys::kTrain, alone);
    spec.validate();
    check_complete(*spec.train_op, alone);
    run_backward(alone);
  } catch (...) {
    ctx.replicas().roll_back();
    throw;
  }
  ctx.replicas().roll_back();
  if (random.was_drawn_from()) return std::nullopt;
  step.losses = alone.recorded_losses();
  step.losses.emplace_back(kSpecLoss, spec.loss.item<double>());
  for (const auto& update : alone.updates()) step.gradients.push_back(update->gradients.at(0));
  return step;
}

void verify_towers(const LoneStep& alone, const std::vector<const StepContext*>& contexts,
                   const std::vector<TowerResult>& towers, const TrainOp& updates, double tolerance) {
  compare_losses(alone, sums_of(contexts, towers), tolerance);
  require(alone.gradients.size() == updates.updates().size(), "verify_towers_every: on one device the model_fn made ",
          alone.gradients.size(), " optimizer calls, over the towers ", updates.updates().size());
  for (size_t k = 0; k < alone.gradients.size(); ++k) {
    compare_gradients(alone.gradients[k], *updates.updates()[k], tolerance);
  }
}

}  // namespace belfry::internal
