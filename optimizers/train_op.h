// What EstimatorSpec::train takes: the updates that end a step.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <source_location>
#include <string>
#include <vector>

namespace belfry {

class Optimizer;
class Variable;

struct GradientAndVariable {
  at::Tensor gradient;  // undefined when the loss does not reach the variable
  Variable* variable = nullptr;
  // Already the step's gradient, equal in all towers, as compute_gradients gives it under exact weighting. Keep the
  // flag when you change a gradient (clipping).
  bool combined = false;
  // Made by the user, to be added up over the towers. Needs saying only for a variable for which compute_gradients has
  // given the step's gradient too.
  bool own = false;
};
using GradientsAndVariables = std::vector<GradientAndVariable>;

// One call of minimize or apply_gradients in one step. Made by Optimizer, finished by the framework.
class PendingUpdate {
 public:
  PendingUpdate(const Optimizer& optimizer, std::string call, std::source_location where);
  ~PendingUpdate();

  const Optimizer& optimizer() const { return *optimizer_; }
  // "minimize of Adagrad at model.cpp:12".
  std::string description() const;
  const std::string& call() const { return call_; }
  const std::source_location& where() const { return where_; }

  // minimize: what to differentiate, until the backward pass has run.
  at::Tensor loss;
  std::vector<Variable*> variables;
  // One entry a tower.
  std::vector<GradientsAndVariables> gradients;

 private:
  std::unique_ptr<const Optimizer> optimizer_;
  std::string call_;
  std::source_location where_;
};

// The updates of a step, in the order in which they are committed. One run of a train op is one global step, however
// many updates it has. A value; an empty one only counts the step.
class TrainOp {
 public:
  TrainOp() = default;
  explicit TrainOp(std::shared_ptr<PendingUpdate> update) : updates_{std::move(update)} {}
  explicit TrainOp(std::vector<std::shared_ptr<PendingUpdate>> updates) : updates_(std::move(updates)) {}

  const std::vector<std::shared_ptr<PendingUpdate>>& updates() const { return updates_; }

 private:
  std::vector<std::shared_ptr<PendingUpdate>> updates_;
};

// Several train ops as one.
TrainOp group(const std::vector<TrainOp>& train_ops);

}  // namespace belfry
