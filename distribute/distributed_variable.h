// A variable under a strategy.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "per_replica.h"
#include "variable_options.h"

namespace belfry {

class Strategy;
namespace internal {
class VariableState;
}

// A handle: copies are the same variable, which lives in its strategy's store (checkpoints have it under its name) and
// as long as that. It remembers its strategy, so that it can be used outside the scope. Made by get_variable.
//
// Inside a run, a replica reads its own copy, as a tensor that takes part in autograd where the variable is trainable.
// Assigning there: of a kOnWrite variable, all replicas have to assign (a meeting, as all_reduce), and every copy
// becomes, at once, the sum, the mean or replica 0's of what they gave; kInvalidArgument without an aggregation, since
// the copies would drift apart, and for one number for all under SUM, where nobody could say whether to add it once or
// for each. A kOnRead variable's replica assigns to its own copy, alone. A run that fails
// undoes what was assigned in it.
//
// Outside, reading gives the value (kOnRead: the sum, the mean, or replica 0's of the copies; kInvalidArgument without
// an aggregation), and assigning reaches every copy. A kOnRead SUM variable is assigned as shares, x / replicas each,
// so that reading gives x again; adding to it there is kInvalidArgument. Not while a run goes on.
//
// Under CentralStorageStrategy and OneDeviceStrategy there is one copy, and kOnRead is kOnWrite.
class DistributedVariable {
 public:
  explicit DistributedVariable(std::shared_ptr<internal::VariableState> state) : state_(std::move(state)) {}

  const std::string& name() const;
  bool trainable() const;
  VariableSynchronization synchronization() const;
  VariableAggregation aggregation() const;
  Strategy& strategy() const;

  // Not to be written to.
  at::Tensor value() const;

  // kInvalidArgument, naming the variable, for another shape, or a dtype of which a part would be lost.
  void assign(const at::Tensor& value);
  void assign_add(const at::Tensor& delta);
  void assign_sub(const at::Tensor& delta);
  // One number for all; kInvalidArgument for a fraction where the variable holds integers.
  template <class Number>
  requires std::is_arithmetic_v<Number>
  void assign(Number value) { assign_number('=', value); }
  template <class Number>
  requires std::is_arithmetic_v<Number>
  void assign_add(Number delta) { assign_number('+', delta); }
  template <class Number>
  requires std::is_arithmetic_v<Number>
  void assign_sub(Number delta) { assign_number('-', delta); }
  // Copies are equal, or belong to their replicas: kInvalidArgument.
  void assign(const PerReplica<at::Tensor>& values);

  // value[indices[i]] += rows[i], duplicates added up; aggregated as assign_add. indices [n] of integers, rows [n, …].
  void scatter_add(const at::Tensor& indices, const at::Tensor& rows);

  // For StrategyExtended::update: change(copy, replica) of every copy that has memory of its own.
  void update_copies(const std::function<void(at::Tensor& copy, size_t replica)>& change);

  // Every copy that this process has, in replica order, and what they are called: "w", "w/replica_1".
  std::vector<at::Tensor> components() const;
  std::vector<std::string> component_names() const;

 private:
  template <class Number>
  void assign_number(char operation, Number number) {
    if constexpr (std::is_integral_v<Number>)
      assign_integer(operation, static_cast<int64_t>(number));
    else
      assign_real(operation, static_cast<double>(number));
  }
  void assign_integer(char operation, int64_t number);
  void assign_real(char operation, double number);

  std::shared_ptr<internal::VariableState> state_;
};

// The variable of that name of the current strategy, made at the first call, by `initial` with random numbers that
// depend on the strategy's seed and the name alone (it may be called more than once, and from any replica). In a scope,
// or inside a run, where every replica gets the same one. In a model_fn that no strategy runs it is the model's, on one
// device and over towers, as under CentralStorageStrategy. Outside of all these it is an ordinary variable, in no
// store, and another one with each call. kInvalidArgument for an illegal name, kNone where there are copies, and the
// mean of integers; kAlreadyExists when it is there with other options.
DistributedVariable get_variable(const std::string& name, const std::function<at::Tensor()>& initial,
                                 const VariableOptions& options = {});
DistributedVariable get_variable(const std::string& name, const at::Tensor& initial,
                                 const VariableOptions& options = {});

}  // namespace belfry
