// Gradients of several steps that one update applies.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "distribute/variable_store.h"
#include "optimizers/internal/plan_cache.h"
#include "optimizers/internal/target.h"
#include "optimizers/optimizer.h"

namespace belfry::internal {

// For one optimizer name, for the life of a session; used by its thread. What is gathered lies in variables, so that a
// checkpoint in the middle of a window holds it: belfry/training/NAME/accumulated/VARIABLE (the sum over steps of
// rows * gradient, or of gradients), belfry/training/NAME/touched/VARIABLE (which rows had a gradient), and the counts
// belfry/training/NAME/accumulated_steps and accumulated_rows.
class Accumulator {
 public:
  Accumulator(VariableStore& store, PlanCache& plans, const Optimizer& optimizer);

  // The gradients of the step at hand. Makes what is missing, the variables' slots among it; gathers nothing yet.
  void prepare(const Optimizer& optimizer, std::vector<Target> targets, int64_t rows, bool ends_input);
  // Whether the step at hand is the last of its window.
  bool completes() const { return completes_; }

  // Gathers them.
  void add(ReplicaGroup* replicas, int active);
  // What the window comes to, sorted by variable; empties it. Variables that had no gradient are not among them; of
  // those with row-sparse gradients, only the rows that occurred are.
  std::vector<Target> take();

 private:
  struct Sum {
    Variable* variable;
    Variable* gathered;
    Variable* touched;
  };

  Sum& sum_of(Variable& variable, const Optimizer& optimizer);
  void take_over_restored(const Optimizer& optimizer);
  Target average(const Sum& sum) const;

  VariableStore& store_;
  PlanCache& plans_;
  std::string scope_;
  Optimizer adder_;
  Variable& steps_;
  Variable& rows_;
  std::map<std::string, Sum> sums_;

  std::vector<Target> targets_;  // of the step at hand: what is added to the sums
  std::vector<const Sum*> added_;
  UpdatePlan* plan_ = nullptr;
  double step_rows_ = 1;
  bool sums_up_ = false;
  bool completes_ = false;
};

}  // namespace belfry::internal
