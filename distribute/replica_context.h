// What a function that Strategy::run runs knows of its replica, and the calls in which replicas meet.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "../core/nested.h"
#include "communication_options.h"
#include "local_arguments.h"
#include "per_replica.h"
#include "reduce_op.h"
#include "scalar_of.h"

namespace belfry {

class StepContext;
class Strategy;

// One replica of one run; used by its thread, while the run lasts. Replicas run at the same time and wait for each
// other in all_reduce, all_gather and merge_call only. All replicas have to make the same calls of these, in the same
// order: where they do not, where one returns or throws instead, or does not come within timeout_seconds, each of the
// others ends with kFailedPrecondition (or kAborted, which the caller of run does not see) that names both sides.
class ReplicaContext {
 public:
  // Made by Strategy::run. `step` is null in the default strategy's. kInvalidArgument for an id out of range.
  ReplicaContext(Strategy& strategy, int replica_id_in_sync_group, StepContext* step);

  // The replica's number, 0 .. num_replicas_in_sync - 1 over all workers, as an int32 scalar, and as a number.
  at::Tensor replica_id_in_sync_group() const;
  int replica_id() const { return id_; }
  // That take part in the step: all of the strategy's, but fewer in a last step of Estimator::train or evaluate for
  // which the input had no batch for each.
  int num_replicas_in_sync() const;
  Strategy& strategy() const { return strategy_; }
  // The one that this replica computes on, as a list of one.
  std::vector<std::string> devices() const;

  // The sum or mean over replicas of every tensor of a structure (see core/nested.h), equal on all of them; a copy that
  // no other replica sees. Added up in replica order. The mean of integers is float64. Row-sparse tensors are joined:
  // the rows of all replicas one after another, for MEAN divided by the number of replicas.
  // Differentiable: the gradient is the all_reduce, by the same operation, of what arrives on every replica, so each
  // has to run its backward pass. kUnimplemented for tensors that need a gradient and are row-sparse or on a GPU.
  // kInvalidArgument for bool.
  template <class T>
  T all_reduce(ReduceOpArgument op, const T& value, const CommunicationOptions& options = {}) {
    static_assert(!internal::holds_numbers<T>(), "numbers of a structure are not reduced: make them tensors");
    return with_tensors(value, all_reduce_tensors(op, tensors_in(value), structure_of(value), options));
  }

  // Of a number: a scalar tensor, of int64 or float64.
  template <class Number>
  requires std::is_arithmetic_v<Number> at::Tensor all_reduce(ReduceOpArgument op, const Number& value,
                                                              const CommunicationOptions& options = {}) {
    return all_reduce(op, internal::scalar_of(value), options);
  }

  // Every tensor concatenated along `axis`, in replica order, on every replica. Sizes may differ along that axis only.
  // Differentiable: the gradient is this replica's piece of the sum of all replicas' gradients. kInvalidArgument for
  // scalars and an axis out of range, kUnimplemented for sparse tensors.
  template <class T>
  T all_gather(const T& value, int64_t axis, const CommunicationOptions& options = {}) {
    static_assert(!internal::holds_numbers<T>(), "numbers are not gathered: make them tensors");
    return with_tensors(value, all_gather_tensors(tensors_in(value), axis, structure_of(value), options));
  }

  // merge_fn(strategy, PerReplica<Args>...), once for all replicas, in the cross-replica context, with what each
  // replica gave. What it returns goes to every replica; of a PerReplica, at any depth as in run, each gets its
  // component. An exception of merge_fn ends the run. Replicas have to pass functions of one type: a lambda of one
  // place in the program.
  template <class MergeFn, class... Args>
  auto merge_call(MergeFn&& merge_fn, const Args&... args) {
    using Result = std::decay_t<std::invoke_result_t<MergeFn&, Strategy&, PerReplica<Args>...>>;
    using Arguments = std::tuple<const Args&...>;
    const Arguments mine(args...);
    std::shared_ptr<const void> result;
    merge(
        typeid(std::remove_cvref_t<MergeFn>), typeid(Arguments), &mine,
        [&](const std::vector<const void*>& all) {
          const auto call = [&]<size_t... I>(std::index_sequence<I...>) {
            return merge_fn(strategy_, merged<Args, I, Arguments>(all)...);
          };
          if constexpr (std::is_void_v<Result>) {
            call(std::index_sequence_for<Args...>());
          } else {
            result = std::make_shared<const Result>(call(std::index_sequence_for<Args...>()));
          }
          return result;
        },
        result);
    if constexpr (!std::is_void_v<Result>) return component(*static_cast<const Result*>(result.get()));
  }

 private:
  using Merge = std::function<std::shared_ptr<const void>(const std::vector<const void*>& all)>;

  template <class Arg, size_t I, class Arguments>
  static PerReplica<Arg> merged(const std::vector<const void*>& all) {
    std::vector<Arg> components;
    for (const void* arguments : all) components.push_back(std::get<I>(*static_cast<const Arguments*>(arguments)));
    return PerReplica<Arg>(std::move(components));
  }
  template <class T>
  typename internal::Local<T>::type component(const T& value) const {
    internal::Local<T>::check(value, static_cast<size_t>(num_replicas_in_sync()),
                              "the result of merge_call's function");
    return internal::Local<T>::get(value, static_cast<size_t>(id_));
  }

  std::vector<at::Tensor> all_reduce_tensors(ReduceOp op, const std::vector<at::Tensor>& values,
                                             const std::string& structure, const CommunicationOptions& options);
  std::vector<at::Tensor> all_gather_tensors(const std::vector<at::Tensor>& values, int64_t axis,
                                             const std::string& structure, const CommunicationOptions& options);
  // Replica 0 calls `merge` with all arguments; `result` is then what it returned, in every replica.
  void merge(const std::type_info& function, const std::type_info& types, const void* arguments, const Merge& merge,
             std::shared_ptr<const void>& result);
  // kFailedPrecondition, beginning with `what`, where there is none.
  StepContext& step(const std::string& what) const;

  Strategy& strategy_;
  int id_;
  StepContext* step_;
};

}  // namespace belfry
