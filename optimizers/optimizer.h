// Optimizers: a rule, a learning rate and a name.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "learning_rate.h"
#include "train_op.h"
#include "update_rule.h"

namespace belfry {

class StepContext;
class VariableStore;

struct MinimizeOptions {
  // Names of the variables to move; empty: every trainable one that the replica knows.
  std::vector<std::string> var_list = {};
};

struct ComputeGradientsOptions {
  std::vector<std::string> var_list = {};
  // Keep the graph for another backward pass over it.
  bool retain_graph = false;
};

enum class AccumulationKind {
  // The gradients' mean, each step weighted by its rows: of losses that are means over rows.
  kMean,
  // Their sum: of losses that are sums over rows.
  kSum,
};

// Gradients of several steps that are applied as one.
struct Accumulation {
  int64_t steps = 1;
  AccumulationKind kind = AccumulationKind::kMean;
};

// A value: a description that may be copied, kept in a struct, made anew in every step. Its state lies in slots of the
// step's VariableStore, named training/NAME/VARIABLE/SLOT, so two optimizers of one name that touch one variable in a
// step are an error that asks for names. Threads may share one object.
class Optimizer {
 public:
  Optimizer(std::shared_ptr<const UpdateRule> rule, LearningRate learning_rate, std::string name = "");
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = default;
  Optimizer(Optimizer&&) = default;
  Optimizer& operator=(const Optimizer&) = default;
  Optimizer& operator=(Optimizer&&) = default;

  // Notes that `loss` (scalar or [1]) is to be made smaller. The backward pass runs when model_fn has returned, so
  // several optimizers may share a graph. kInvalidArgument when loss is not one number, or a name of var_list is
  // unknown or not trainable; when the step ends, kInvalidArgument too if loss reaches no variable.
  // kFailedPrecondition, naming the tower, when several towers run and this is not a TowerOptimizer.
  TrainOp minimize(const at::Tensor& loss, StepContext& context, const MinimizeOptions& options = {},
                   std::source_location where = std::source_location::current()) const;

  // The gradients now, one entry for each variable, undefined where loss does not reach it. Under exact weighting over
  // several towers they are those of the step, equal in all towers (every tower has to make the call), so that clipping
  // does what it does on one device.
  GradientsAndVariables compute_gradients(const at::Tensor& loss, StepContext& context,
                                          const ComputeGradientsOptions& options = {},
                                          std::source_location where = std::source_location::current()) const;

  // Notes that the gradients are to be applied at the end of the step. Undefined ones leave their variable alone.
  // kInvalidArgument when all are undefined, when shapes differ from the variables', or when a variable comes twice.
  TrainOp apply_gradients(GradientsAndVariables gradients, StepContext& context,
                          std::source_location where = std::source_location::current()) const;

  std::string name() const;
  const UpdateRule& rule() const;
  double learning_rate(int64_t global_step) const;
  bool is_tower_optimizer() const { return tower_; }
  const Accumulation& accumulation() const;
  std::vector<std::string> get_slot_names() const;
  // The slot's value (shared memory, not to be written); undefined before the first step made it. kNotFound for a slot
  // that the rule does not have.
  at::Tensor get_slot(const VariableStore& store, const std::string& variable, const std::string& slot) const;
  // What it keeps in `store`: the slots of every variable that it has moved, by name, and the counter of a rule that
  // counts. Sums of an Accumulation are not among them. They live as long as the store.
  std::vector<const Variable*> variables(const VariableStore& store) const;
  // "training/NAME/VARIABLE/SLOT".
  std::string slot_name(const std::string& variable, const std::string& slot) const;
  // "belfry/training/NAME/iterations": how often it was applied, for rules that count.
  std::string iterations_name() const;

 protected:
  struct Parts {
    std::shared_ptr<const UpdateRule> rule;
    LearningRate learning_rate;
    std::string name;
    Accumulation accumulation = {};
  };
  // `make` is called once, at the first need, for all copies.
  Optimizer(std::function<Parts()> make, bool tower);
  static Parts parts_of(const Optimizer& optimizer) { return optimizer.parts(); }

 private:
  class Lazy;
  const Parts& parts() const;
  void check_wrapped(const StepContext& context, const char* call, const std::source_location& where) const;

  std::shared_ptr<Lazy> lazy_;
  bool tower_ = false;
};

// Runs the backward passes that minimize noted in this context, in the order of the calls. The framework calls it on
// the replica's thread after model_fn.
void run_backward(StepContext& context);

}  // namespace belfry
