#include "distribute/strategy_extended.h"

#include <ATen/ATen.h>

#include "core/error.h"
#include "distribute/internal/context_stack.h"

namespace belfry {

Destinations::Destinations(const PerReplica<at::Tensor>& like) {
  for (const at::Tensor& component : like) {
    require(component.defined(), "destinations: a component is an undefined tensor");
    devices_.push_back(component.device());
  }
}

Destinations::Destinations(const DistributedVariable& variable) {
  for (const at::Tensor& copy : variable.components()) devices_.push_back(copy.device());
}

PerReplica<at::Tensor> StrategyExtended::reduce_to(ReduceOpArgument op, const PerReplica<at::Tensor>& value,
                                                   const Destinations& destinations) const {
  return broadcast_to(strategy_->reduce(op, value), destinations);
}

std::vector<PerReplica<at::Tensor>> StrategyExtended::batch_reduce_to(
    ReduceOpArgument op,
    const std::vector<std::pair<PerReplica<at::Tensor>, Destinations>>& value_destination_pairs) const {
  std::vector<PerReplica<at::Tensor>> reduced;
  for (const auto& [value, destinations] : value_destination_pairs) {
    reduced.push_back(reduce_to(op, value, destinations));
  }
  return reduced;
}

PerReplica<at::Tensor> StrategyExtended::broadcast_to(const at::Tensor& value, const Destinations& destinations) const {
  check_here("broadcast_to");
  std::vector<at::Tensor> copies;
  for (const at::Device device : destinations.devices()) {
    copies.push_back(value.to(device, value.scalar_type(), /*non_blocking=*/false, /*copy=*/true));
  }
  return PerReplica<at::Tensor>(std::move(copies));
}

std::vector<std::string> StrategyExtended::parameter_devices() const {
  return strategy_->copies_of_variables() > 1 ? worker_devices() : non_slot_devices();
}

void StrategyExtended::check_here(const std::string& call) const {
  internal::check_may_enter(*strategy_, call, "a replica speaks for itself alone: use merge_call");
}

void StrategyExtended::check_update(const DistributedVariable& variable) const {
  require(variable_created_in_scope(variable), "update: variable '", variable.name(), "' is one of ",
          variable.strategy().name(), ", not of this ", strategy_->name());
  check_here(concat("update of variable '", variable.name(), "'"));
}

StrategyExtended Strategy::extended() { return StrategyExtended(*this); }

}  // namespace belfry
