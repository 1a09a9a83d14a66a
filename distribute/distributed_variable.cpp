#include "distribute/distributed_variable.h"

#include <ATen/ATen.h>

#include "core/error.h"
#include "distribute/distribution_context.h"
#include "distribute/internal/variable_of_step.h"
#include "distribute/internal/variable_state.h"
#include "distribute/step_context.h"
#include "distribute/strategy.h"

namespace belfry {

const std::string& DistributedVariable::name() const { return state_->name(); }
bool DistributedVariable::trainable() const { return state_->trainable(); }
VariableSynchronization DistributedVariable::synchronization() const { return state_->options().synchronization; }
VariableAggregation DistributedVariable::aggregation() const { return state_->options().aggregation; }
Strategy& DistributedVariable::strategy() const { return state_->strategy(); }

at::Tensor DistributedVariable::value() const { return state_->value(); }
void DistributedVariable::assign(const at::Tensor& value) { state_->change('=', value); }
void DistributedVariable::assign_add(const at::Tensor& delta) { state_->change('+', delta); }
void DistributedVariable::assign_sub(const at::Tensor& delta) { state_->change('-', delta); }
void DistributedVariable::assign_integer(char operation, int64_t number) {
  state_->change_by_number(operation, number);
}
void DistributedVariable::assign_real(char operation, double number) { state_->change_by_number(operation, number); }

void DistributedVariable::assign(const PerReplica<at::Tensor>& values) {
  require(values.size() == 1, "assign: variable '", name(), "' was given a value for each of ", values.size(),
          " replicas: its copies are equal, or each replica's own. Assign inside a run, or one value here");
  assign(values[0]);
}

void DistributedVariable::scatter_add(const at::Tensor& indices, const at::Tensor& rows) {
  state_->scatter_add(indices, rows);
}

void DistributedVariable::update_copies(const std::function<void(at::Tensor& copy, size_t replica)>& change) {
  state_->update_copies(change);
}

std::vector<at::Tensor> DistributedVariable::components() const { return state_->components(); }

std::vector<std::string> DistributedVariable::component_names() const {
  std::vector<std::string> names{name()};
  for (size_t i = 1; i < components().size(); ++i) names.push_back(concat(name(), "/replica_", i));
  return names;
}

DistributedVariable get_variable(const std::string& name, const std::function<at::Tensor()>& initial,
                                 const VariableOptions& options) {
  StepContext* step = StepContext::current();
  const bool of_strategy = has_strategy() && (!step || &step->store() == &get_strategy().store());
  if (step && !of_strategy) return DistributedVariable(internal::variable_of_step(*step, name, initial, options));
  return DistributedVariable(get_strategy().variable_state(name, initial, options));
}

DistributedVariable get_variable(const std::string& name, const at::Tensor& initial, const VariableOptions& options) {
  return get_variable(
      name, [&] { return initial; }, options);
}

}  // namespace belfry
