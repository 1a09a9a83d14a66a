// What library writers ask of a strategy: tf.distribute.StrategyExtended.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

#include "device.h"
#include "distributed_variable.h"
#include "local_arguments.h"
#include "per_replica.h"
#include "reduce_op.h"
#include "strategy.h"

namespace belfry {

// Where a reduced value goes: to one device, or to every device of a PerReplica (its components', or those that a
// variable's copies serve).
class Destinations {
 public:
  // See parse_device. NOLINTNEXTLINE(google-explicit-constructor)
  Destinations(const std::string& device) : devices_{parse_device(device).device} {}
  Destinations(const char* device) : Destinations(std::string(device)) {}  // NOLINT(google-explicit-constructor)
  Destinations(at::Device device) : devices_{device} {}                    // NOLINT(google-explicit-constructor)
  Destinations(const PerReplica<at::Tensor>& like);                        // NOLINT(google-explicit-constructor)
  Destinations(const DistributedVariable& variable);                       // NOLINT(google-explicit-constructor)

  const std::vector<at::Device>& devices() const { return devices_; }

 private:
  std::vector<at::Device> devices_;
};

// Of Strategy::extended(); a cheap value, whose strategy has to live as long. To be used where the strategy's own
// methods are: in the cross-replica context or outside, kFailedPrecondition in a replica.
class StrategyExtended {
 public:
  explicit StrategyExtended(Strategy& strategy) : strategy_(&strategy) {}

  // Strategy::reduce with a chosen destination: one component for each of its devices, all equal. Errors as there.
  PerReplica<at::Tensor> reduce_to(ReduceOpArgument op, const PerReplica<at::Tensor>& value,
                                   const Destinations& destinations) const;
  // The same for several values, each with its own.
  std::vector<PerReplica<at::Tensor>> batch_reduce_to(
      ReduceOpArgument op,
      const std::vector<std::pair<PerReplica<at::Tensor>, Destinations>>& value_destination_pairs) const;
  // A copy of the value on each of the devices.
  PerReplica<at::Tensor> broadcast_to(const at::Tensor& value, const Destinations& destinations) const;

  // fn(copy, args...) on every copy of the variable that has its own memory, in replica order, without any
  // aggregation; of a PerReplica among args, at any depth, a copy is given its replica's component. `copy` is the
  // variable's memory, to be changed in place; gradients are off. What fn returns, for each copy; nothing for void.
  // Copies of kOnWrite variables are one (see DistributedVariable), so that it is called once there, with replica 0's
  // components. kFailedPrecondition while replicas run, but in a merge function.
  template <class Function, class... Args>
  auto update(DistributedVariable& variable, Function&& fn, const Args&... args) const {
    using Result =
        std::decay_t<std::invoke_result_t<Function&, at::Tensor&, const typename internal::Local<Args>::type&...>>;
    const auto call = [&](at::Tensor& copy, [[maybe_unused]] size_t replica) -> Result {
      return fn(copy, internal::Local<Args>::get(args, replica)...);
    };
    check_update(variable);
    (internal::Local<Args>::check(args, strategy_->replicas_at_hand(), "update"), ...);
    if constexpr (std::is_void_v<Result>) {
      variable.update_copies(call);
    } else {
      std::vector<Result> results;
      variable.update_copies([&](at::Tensor& copy, size_t replica) { results.push_back(call(copy, replica)); });
      return PerReplica<Result>(std::move(results));
    }
  }
  // fn(args...), once, with replica 0's components: state that belongs to no variable is in one place.
  template <class Function, class... Args>
  auto update_non_slot(Function&& fn, const Args&... args) const {
    check_here("update_non_slot");
    (internal::Local<Args>::check(args, strategy_->replicas_at_hand(), "update_non_slot"), ...);
    return fn(internal::Local<Args>::get(args, 0)...);
  }

  // Strategy::run.
  template <class Function, class... Args>
  auto call_for_each_replica(Function&& fn, const Args&... args) const {
    return strategy_->run(std::forward<Function>(fn), args...);
  }

  at::Tensor read_var(const DistributedVariable& variable) const { return variable.value(); }
  // Whether it is one of this strategy's.
  bool variable_created_in_scope(const DistributedVariable& variable) const {
    return &variable.strategy() == strategy_;
  }

  std::vector<std::string> worker_devices() const { return names_of(strategy_->worker_devices()); }
  // Where variables are: every worker device where there are copies, else one.
  std::vector<std::string> parameter_devices() const;
  // Where state beside variables is.
  std::vector<std::string> non_slot_devices() const { return {strategy_->parameter_device().name}; }

 private:
  void check_here(const std::string& call) const;
  void check_update(const DistributedVariable& variable) const;

  Strategy* strategy_;
};

}  // namespace belfry
