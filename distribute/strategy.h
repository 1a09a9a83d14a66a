// One program on several devices: tf.distribute.Strategy.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../core/nested.h"
#include "../data/dataset.h"
#include "../data/input_context.h"
#include "communication_options.h"
#include "device.h"
#include "distributed_dataset.h"
#include "distribution_context.h"
#include "input_options.h"
#include "local_arguments.h"
#include "per_replica.h"
#include "reduce_op.h"
#include "replica_context.h"
#include "replica_set.h"
#include "scalar_of.h"
#include "variable_options.h"
#include "variable_store.h"

namespace belfry {

class ClusterResolver;
class StrategyExtended;

// The dimensions that Strategy::reduce sums over inside each replica: none, one, or several.
class ReduceAxis {
 public:
  ReduceAxis(std::nullopt_t) {}                                     // NOLINT(google-explicit-constructor)
  ReduceAxis(int64_t axis) : axes_(std::vector<int64_t>{axis}) {}   // NOLINT(google-explicit-constructor)
  ReduceAxis(int axis) : ReduceAxis(static_cast<int64_t>(axis)) {}  // NOLINT(google-explicit-constructor)
  ReduceAxis(std::initializer_list<int64_t> axes) : axes_(std::vector<int64_t>(axes)) {}
  ReduceAxis(std::vector<int64_t> axes) : axes_(std::move(axes)) {}  // NOLINT(google-explicit-constructor)

  const std::optional<std::vector<int64_t>>& axes() const { return axes_; }

 private:
  std::optional<std::vector<int64_t>> axes_;
};

namespace internal {
class StrategyState;
class VariableState;
}  // namespace internal

// For which replica a value is made.
struct ValueContext {
  int replica_id_in_sync_group = 0;
  int num_replicas_in_sync = 1;
};

struct StrategyOptions {
  // Of the variables' initial values and of the random operations in a run.
  uint64_t seed = 0;
  CommunicationOptions communication_options = {};
};

// Where a program runs, and the calls that make it many: OneDeviceStrategy, MirroredStrategy, CentralStorageStrategy.
// Owns the variables that are made in its scope or runs, and one thread for each replica but the first, which runs on
// the caller's. Not to be copied or moved: scopes, variables and data sets refer to it. One thread at a time may call
// run; the default strategy, which has neither threads nor variables, may be used by any.
class Strategy {
 public:
  virtual ~Strategy();
  Strategy(const Strategy&) = delete;
  Strategy& operator=(const Strategy&) = delete;

  // "MirroredStrategy".
  const std::string& name() const { return name_; }
  // Over all workers.
  int num_replicas_in_sync() const { return static_cast<int>(devices_.size()); }
  // The replicas' devices, and where variables have their one copy.
  const std::vector<LogicalDevice>& worker_devices() const { return devices_; }
  const LogicalDevice& parameter_device() const { return parameter_device_; }
  const CommunicationOptions& communication_options() const { return options_.communication_options; }
  // Null: only MultiWorkerMirroredStrategy has one.
  virtual const ClusterResolver* cluster_resolver() const { return nullptr; }
  // For library writers; see strategy_extended.h.
  StrategyExtended extended();
  // A copy of an Estimator's RunConfig by which it trains and evaluates under a strategy like this; under the default
  // one the copy is unchanged.
  template <class Config>
  Config update_config_proto(Config config) const {
    if (!state_) return config;
    config.train_distribute = like_this(options_.seed);
    config.eval_distribute = config.train_distribute;
    return config;
  }
  // A call's options; what they leave open is the strategy's.
  CommunicationOptions options_of(const CommunicationOptions& call) const;

  // All state that is made under the strategy; a checkpoint is this on disk. kFailedPrecondition for the default one.
  VariableStore& store();
  ReplicaSet& replicas();
  // False of the default one.
  bool has_variables() const { return state_ != nullptr; }

  // Whether a run goes on, in whatever thread.
  bool is_running() const;
  // How many copies of a variable there are: one for each replica of a MirroredStrategy, else one.
  virtual int copies_of_variables() const { return 1; }
  // One of the same kind, devices and options, with this seed, without variables. kUnimplemented for the default one.
  virtual std::unique_ptr<Strategy> like_this(uint64_t seed) const;
  // For Estimator: work(i) as replica i, in its replica context, of a step that the caller commits, on the first
  // replicas, one for each of `steps`. Errors are those of run.
  void run_steps(const std::vector<StepContext*>& steps, const std::function<void(size_t)>& work);

  // How many replicas values are of: all, but in a merge function those that take part in the step (an Estimator's last
  // one may lack some).
  size_t replicas_at_hand() const;

  // For merge_call: which variables a merge function writes, so that the replicas see it. Between the two exchanges of
  // the call, replica 0 begins and the function notes; all read after the second.
  void begin_merge();
  void note_written_in_merge(const Variable& variable);
  const std::vector<const Variable*>& written_in_merge() const { return written_in_merge_; }

  // For get_variable.
  std::shared_ptr<internal::VariableState> variable_state(const std::string& name,
                                                          const std::function<at::Tensor()>& initial,
                                                          const VariableOptions& options);

  // See StrategyScope.
  [[nodiscard]] StrategyScope scope() { return StrategyScope(*this); }

  // fn(args...) on every replica at once, each in its replica context: get_replica_context(), StepContext::current()
  // and a device of its own; with one replica on the caller's thread. Of every PerReplica in args, at any depth of
  // vectors, pairs, tuples, maps and optionals, a replica is given its component; all else whole. Returns what each
  // returned; nothing for void.
  //
  // What the replicas recorded is committed when all have returned: updates of optimizers, which are one step
  // (gradients are added up over replicas; scaling the loss to the global batch is the caller's), assignments, and
  // buffers. When a replica throws, its exception comes out here, nothing is committed, and the strategy is usable.
  // kInvalidArgument where a PerReplica has another number of components than there are replicas; kFailedPrecondition
  // in a replica context, in another strategy's scope, and while another run of this strategy is going on.
  template <class Function, class... Args>
  auto run(Function&& fn, const Args&... args) {
    (internal::Local<Args>::check(args, replica_count(), "run"), ...);
    using Result = std::decay_t<std::invoke_result_t<Function&, const typename internal::Local<Args>::type&...>>;
    if constexpr (std::is_void_v<Result>) {
      run_replicas([&]([[maybe_unused]] size_t replica) { fn(internal::Local<Args>::get(args, replica)...); });
    } else {
      std::vector<std::optional<Result>> results(replica_count());
      run_replicas([&]([[maybe_unused]] size_t replica) {
        results[replica].emplace(fn(internal::Local<Args>::get(args, replica)...));
      });
      std::vector<Result> components;
      for (std::optional<Result>& result : results) components.push_back(std::move(*result));
      return PerReplica<Result>(std::move(components));
    }
  }
  // Old name of run.
  template <class Function, class... Args>
  auto experimental_run_v2(Function&& fn, const Args&... args) {
    return run(std::forward<Function>(fn), args...);
  }

  // One value of the replicas' values, for every tensor of a structure, on the CPU, added up in replica order. Without
  // an axis over replicas only: shapes have to agree, MEAN divides by the number of replicas. With axes each component
  // is summed along them first, and MEAN divides by the elements along them of all replicas together: replicas that had
  // fewer rows count less, and one without any adds nothing. SUM keeps the dtype, MEAN of integers is float64.
  // kInvalidArgument, naming what differs: shapes, dtypes or structures that do not agree, an axis out of range, bool,
  // another number of components than replicas. kFailedPrecondition as for run.
  template <class T>
  T reduce(ReduceOpArgument op, const PerReplica<T>& value, const ReduceAxis& axis = std::nullopt) {
    static_assert(!internal::holds_numbers<T>(), "numbers of a structure are not reduced: make them tensors");
    return with_tensors(value[0], reduce_parts(op, parts_of(value), axis));
  }
  // Of numbers: a scalar tensor, of int64 or float64.
  template <class Number>
  requires std::is_arithmetic_v<Number> at::Tensor reduce(ReduceOpArgument op, const PerReplica<Number>& value,
                                                          const ReduceAxis& axis = std::nullopt) {
    return reduce(op, value.map([](Number number) { return internal::scalar_of(number); }), axis);
  }
  // Of a value that is one for all replicas: MEAN gives it back, and with axes every replica counts as having it.
  // kInvalidArgument for SUM over several replicas without an axis, where nobody could say what was meant.
  at::Tensor reduce(ReduceOpArgument op, const at::Tensor& value, const ReduceAxis& axis = std::nullopt);
  // Of a plain number: the same, as a scalar tensor of int64 or float64; and the SUM of 0 is 0 over any replicas, so
  // that a total may begin as one.
  template <class Number>
  requires std::is_arithmetic_v<Number> at::Tensor reduce(ReduceOpArgument op, Number value,
                                                          const ReduceAxis& axis = std::nullopt) {
    if (value == Number(0) && !axis.axes()) op = ReduceOp::kMean;
    return reduce(op, internal::scalar_of(value), axis);
  }

  // Every tensor of the components concatenated along `axis` in replica order, on the CPU; sizes may differ along it
  // only. kInvalidArgument for scalars and as reduce, kUnimplemented for sparse tensors.
  template <class T>
  T gather(const PerReplica<T>& value, int64_t axis) {
    static_assert(!internal::holds_numbers<T>(), "numbers are not gathered: make them tensors");
    return with_tensors(value[0], gather_parts(parts_of(value), axis));
  }

  // The data set, whose elements are batches for all replicas together ("global"), divided among them: each batch of m
  // rows is cut into pieces of ceil(m / replicas), in order; where they run out, replicas get pieces without rows.
  // Under AutoShardPolicy::kOff the first replicas get one row more instead. Reads ahead in the background.
  DistributedDataset experimental_distribute_dataset(const Dataset& dataset, const InputOptions& options = {});
  // The data set that dataset_fn makes, called once, in the strategy's scope: its batches are for one replica each,
  // and every replica takes the next one in each step. A last step that lacks some is filled up with batches without
  // rows, under every strategy (TensorFlow drops it under CentralStorageStrategy).
  DistributedDataset distribute_datasets_from_function(const std::function<Dataset(const InputContext&)>& dataset_fn,
                                                       const InputOptions& options = {});
  // Old name.
  DistributedDataset experimental_distribute_datasets_from_function(
      const std::function<Dataset(const InputContext&)>& dataset_fn, const InputOptions& options = {}) {
    return distribute_datasets_from_function(dataset_fn, options);
  }
  // One element for each row of the tensors, whose rows have to agree (kInvalidArgument). Not batched: batch before
  // distributing.
  Dataset experimental_make_numpy_dataset(Features numpy_input, Labels labels = {}) const {
    return Dataset::from_tensors(std::move(numpy_input), std::move(labels));
  }
  // The older forms, see InputIterator: of global batches, and of a function that makes batches for one replica each
  // (kInvalidArgument unless kPerWorker).
  InputIterator make_dataset_iterator(const Dataset& dataset);
  InputIterator make_input_fn_iterator(const std::function<Dataset(const InputContext&)>& input_fn,
                                       InputReplicationMode replication_mode = InputReplicationMode::kPerWorker);
  // run(fn, the iterator's next step); without an iterator run(fn).
  template <class Function>
  auto experimental_run(Function&& fn, InputIterator& iterator) {
    return run(std::forward<Function>(fn), iterator.get_next());
  }
  template <class Function>
  auto experimental_run(Function&& fn) {
    return run(std::forward<Function>(fn));
  }
  // value_fn(ValueContext) for each replica, in order, on this thread.
  template <class Function>
  auto experimental_distribute_values_from_function(Function&& value_fn) {
    check_makes_values();
    std::vector<std::decay_t<std::invoke_result_t<Function&, const ValueContext&>>> components;
    const int replicas = static_cast<int>(replicas_at_hand());
    for (int i = 0; i < replicas; ++i) {
      components.push_back(value_fn(ValueContext{.replica_id_in_sync_group = i, .num_replicas_in_sync = replicas}));
    }
    return PerReplica<typename decltype(components)::value_type>(std::move(components));
  }

  // The components on this worker, in replica order; a value that is no PerReplica alone. Allowed everywhere.
  template <class T>
  std::vector<T> experimental_local_results(const PerReplica<T>& value) const {
    return value.components();
  }
  template <class T>
  std::vector<T> experimental_local_results(const T& value) const {
    return {value};
  }

 protected:
  // kInvalidArgument when a device is given twice.
  Strategy(std::string name, std::vector<LogicalDevice> devices, LogicalDevice parameter_device,
           const StrategyOptions& options);
  // Every strategy but the default one: with variables and threads.
  void make_state();

 private:
  // What a component of a PerReplica holds.
  using Parts = std::vector<internal::NestReader>;

  size_t replica_count() const { return devices_.size(); }
  void run_replicas(const std::function<void(size_t)>& work);
  internal::StrategyState& state() const;
  template <class T>
  static Parts parts_of(const PerReplica<T>& value) {
    Parts parts(value.size());
    for (size_t i = 0; i < value.size(); ++i) internal::Nest<T>::read(value[i], parts[i]);
    return parts;
  }
  std::vector<at::Tensor> reduce_parts(ReduceOp op, const Parts& parts, const ReduceAxis& axis);
  std::vector<at::Tensor> gather_parts(const Parts& parts, int64_t axis);
  void check_makes_values() const;
  void check_parts(const char* call, const Parts& parts) const;

  std::string name_;
  std::vector<LogicalDevice> devices_;
  LogicalDevice parameter_device_;
  StrategyOptions options_;
  std::vector<const Variable*> written_in_merge_;
  std::unique_ptr<internal::StrategyState> state_;
};

}  // namespace belfry
