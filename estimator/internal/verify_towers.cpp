#include "estimator/internal/verify_towers.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
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
// Numbers below it are compared as if they were as large.
constexpr double kSmall = 1e-3;
constexpr const char* kAdvice =
    ". What several devices can make exact are losses::, losses::mean for masked means, losses::penalty for "
    "regularizers, "
    "ctx.global_sum for what is not linear, and batch_norm = kSync (under a strategy SyncBatchNorm)";

struct Sum {
  double value = 0;
  double size = 0;  // of the parts: where they cancel, their rounding is what is left

  void add(double part) {
    value += part;
    size += std::abs(part);
  }
};

std::map<std::string, Sum> sums_of(const std::vector<const StepContext*>& contexts,
                                   const std::vector<TowerResult>& towers) {
  std::map<std::string, Sum> sums;
  for (size_t i = 0; i < contexts.size(); ++i) {
    const double contribution = towers[i].policy.contribution;
    for (const auto& [label, value] : contexts[i]->recorded_losses()) sums[label].add(contribution * value);
    sums[kSpecLoss].add(contribution * towers[i].spec.loss.item<double>());
  }
  return sums;
}

// What is no number on one side only differs; on both sides it is not the towers' doing.
bool agrees(double alone, const Sum& towers, double tolerance) {
  if (!std::isfinite(alone) || !std::isfinite(towers.value)) {
    return std::isfinite(alone) == std::isfinite(towers.value);
  }
  const double scale = std::max({std::abs(alone), towers.size, kSmall});
  return std::abs(alone - towers.value) <= tolerance * scale;
}

// Losses come in the order in which they are made: the first that differs is the cause of others.
void compare_losses(const LoneStep& alone, const std::map<std::string, Sum>& towers, const std::string& noun,
                    double tolerance) {
  for (const auto& [label, value] : alone.losses) {
    const auto found = towers.find(label);
    const Sum sum = found == towers.end() ? Sum() : found->second;
    if (agrees(value, sum, tolerance)) continue;
    const bool made_by_losses = label.find("losses::") != std::string::npos;
    fail(ErrorKind::kFailedPrecondition, "verify_towers_every: ", label, " is ", value, " on one device and ",
         sum.value, " over the ", noun, "s: ",
         made_by_losses ? concat("what it is given depends on which rows a ", noun, " has")
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

double largest_of(const at::Tensor& gradient) {
  return gradient.numel() == 0 ? 0 : gradient.abs().nan_to_num(0, 0).max().item<double>();
}

// The largest difference; infinite where one of the two is no number and the other is.
double difference_of(const at::Tensor& one, const at::Tensor& other) {
  if (!at::isfinite(one).equal(at::isfinite(other))) return std::numeric_limits<double>::infinity();
  return largest_of(one - other);
}

// What rounding may come to is a share of the update's largest gradient: some are zero but for rounding, as those of a
// bias before batch norm.
double scale_of(const GradientsAndVariables& alone) {
  double largest = 0;
  for (const GradientAndVariable& entry : alone) {
    if (entry.gradient.defined()) largest = std::max(largest, largest_of(entry.gradient.cpu().to_dense()));
  }
  return std::max(kSmall, largest / 100);
}

void compare_gradients(const GradientsAndVariables& alone, const PendingUpdate& update, const std::string& noun,
                       double tolerance) {
  const std::map<const Variable*, at::Tensor> sums = sums_of(update.gradients);
  const double least = scale_of(alone);
  for (const GradientAndVariable& entry : alone) {
    const auto found = sums.find(entry.variable);
    const bool both = entry.gradient.defined() && found != sums.end();
    if (!entry.gradient.defined() && found == sums.end()) continue;
    const at::Tensor one = both ? entry.gradient.cpu().to_dense() : at::Tensor();
    const double difference = both ? difference_of(one, found->second) : 0;
    const double largest = both ? largest_of(one) : 0;
    if (both && difference <= tolerance * std::max(largest, least)) continue;
    fail(ErrorKind::kFailedPrecondition, "verify_towers_every: the gradient of variable '", entry.variable->name(),
         "' for ", update.description(), " differs between one device and the ", noun, "s",
         both ? concat(" by as much as ", difference, " (the largest entry is ", largest, ")")
              : concat(": ", entry.gradient.defined() ? concat("the ", noun, "s have") : "one device has", " none"),
         ", though the losses agree", kAdvice);
  }
}

}  // namespace

std::optional<LoneStep> run_alone(const ModelFn& model_fn, const Features& features, const Labels& labels,
                                  bool tower_optimizer_wanted, ModelContext& ctx) {
  StepContext::Options options;
  options.training = true;
  options.batch_number = ctx.batch_number();
  options.tower_optimizer_wanted = tower_optimizer_wanted;
  options.record_losses = true;
  options.trial = true;
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
  const std::string& noun = contexts[0]->noun();
  compare_losses(alone, sums_of(contexts, towers), noun, tolerance);
  require(alone.gradients.size() == updates.updates().size(), "verify_towers_every: on one device the model_fn made ",
          alone.gradients.size(), " optimizer calls, over the ", noun, "s ", updates.updates().size());
  for (size_t k = 0; k < alone.gradients.size(); ++k) {
    compare_gradients(alone.gradients[k], *updates.updates()[k], noun, tolerance);
  }
}

}  // namespace belfry::internal
