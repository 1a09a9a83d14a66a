// What code inside a model_fn knows of the step that it is part of.
#pragma once

#include <ATen/core/Tensor.h>

#include <any>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <source_location>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "../core/error.h"
#include "call_site.h"
#include "loss_policy.h"
#include "module_factory.h"
#include "replica.h"
#include "step_finisher.h"
#include "variable_store.h"

namespace belfry {

class Rendezvous;
class PendingUpdate;  // optimizers/train_op.h

// One replica's view of one step: the store, which replica of how many it is, and the calls in which replicas meet.
// Optimizers and losses take one; ModelContext derives from it. Made by the framework for each step and used by the
// replica's own thread. Replica, store and rendezvous belong to the session and outlive it.
class StepContext {
 public:
  struct Options {
    int replica_count = 1;             // that take part in this step
    Rendezvous* rendezvous = nullptr;  // wanted when replica_count > 1
    LossPolicy loss_policy = {};
    bool training = false;
    // Of an evaluation or prediction, from 0, so that its batches draw different random numbers.
    int64_t batch_number = 0;
    // Under replicate_model_fn with several devices every optimizer has to be a TowerOptimizer.
    bool tower_optimizer_wanted = false;
    // Whether compute_gradients gives every replica the combined gradients.
    bool combine_gradients = false;
    // Whether batch norm takes the statistics of all replicas' rows.
    bool sync_batch_norm = false;
    // Of the batch: the first row of this replica's slice and how many the slice has; -1 where nothing was sliced.
    int64_t first_row = 0;
    int64_t rows = -1;
    // Whether losses are noted as they are made; it costs a wait for each.
    bool record_losses = false;
    // Of a pass that is thrown away: what is assigned to variables in it has no effect.
    bool trial = false;
    // What messages call a replica: ReplicaSet::noun.
    std::string noun = "tower";
  };

  StepContext(Replica& replica, Options options);
  virtual ~StepContext();
  StepContext(const StepContext&) = delete;
  StepContext& operator=(const StepContext&) = delete;

  // The context of the model_fn that runs on this thread; null outside one.
  static StepContext* current();
  // How an error of this thread names row `row` of `count` values: "row 7 of the batch", where a replica sees its slice
  // alone. Values that are not one for each row of the slice (logits of [batch * time]) are named with the tower;
  // outside a model_fn it is "row 7".
  static std::string describe_row(int64_t row, int64_t count);

  VariableStore& store() const { return replica_.store(); }
  Replica& replica() const { return replica_; }
  // Which tower this is, from 0, and how many take part in the step.
  int tower_index() const { return replica_.index(); }
  int tower_count() const { return options_.replica_count; }
  // What messages call one, and this one: "replica", "replica 1".
  const std::string& noun() const { return options_.noun; }
  std::string called() const { return concat(noun(), " ", tower_index()); }
  at::Device device() const { return replica_.device(); }
  // Steps that were committed before this one.
  int64_t global_step() const { return global_step_; }
  bool training() const { return options_.training; }
  bool is_trial() const { return options_.trial; }
  // Numbers the collectives of this step in the order of the calls, which is that of every replica.
  int64_t next_collective() { return ++collectives_; }
  // No other context of the process has it.
  uint64_t id() const { return id_; }
  int64_t batch_number() const { return options_.batch_number; }
  // What this replica's random operations are seeded with: of the store's seed, the step, the batch and the tower.
  uint64_t random_seed() const;
  const LossPolicy& loss_policy() const { return options_.loss_policy; }
  bool tower_optimizer_wanted() const { return options_.tower_optimizer_wanted; }
  bool combines_gradients() const { return options_.combine_gradients && tower_count() > 1; }
  bool syncs_batch_norm() const { return options_.sync_batch_norm && tower_count() > 1; }
  // Variables whose combined gradient this step has handed out.
  void note_combined(const Variable& variable) { combined_.insert(&variable); }
  bool was_combined(const Variable& variable) const { return combined_.contains(&variable); }

  // The module of that name, which `make` makes at the first call on this tower and which lasts. `make` returns a
  // module holder (Net(64, 10)) or a shared_ptr of a module; so does this. Parameters and buffers become variables
  // below `name`; train or eval mode is set from training(). See Replica::module for what is an error.
  template <class Make>
  requires internal::ModuleFactory<std::remove_cvref_t<Make>>
  auto module(const std::string& name, Make&& make) -> std::invoke_result_t<Make&> {
    using Handle = std::invoke_result_t<Make&>;
    using Impl = internal::ModuleOf<Handle>;
    const auto erased = [&make]() -> std::shared_ptr<torch::nn::Module> { return internal::pointer_of(make()); };
    return Handle(std::static_pointer_cast<Impl>(replica().module(name, typeid(Impl), erased, training())));
  }

  // The same for cheap arguments: ctx.module<Net>("net", 64, 10), with a holder or an Impl type. Arguments may not be
  // modules or tensors, which would be state outside the store, and need ==. kInvalidArgument when they change.
  template <class M, class... Args>
  requires(!(sizeof...(Args) == 1 && (internal::ModuleFactory<Args> && ...))) auto module(const std::string& name,
                                                                                          Args... args) {
    static_assert(!(internal::kIsState<Args> || ...),
                  "modules and tensors are not arguments: make them inside the module, or use module(name, factory)");
    static_assert((std::equality_comparable<Args> && ...),
                  "arguments are compared from step to step, and these have no ==: use module(name, factory)");
    check_arguments(name, std::tuple<Args...>(args...));
    if constexpr (requires { typename M::ContainedType; }) {
      return module(name, [&] { return M(args...); });
    } else {
      return module(name, [&] { return std::make_shared<M>(args...); });
    }
  }

  // A variable without a module, made by `initial` at its first use on any tower: TensorFlow's get_variable.
  at::Tensor variable(const std::string& name, const std::function<at::Tensor()>& initial, bool trainable = true);

  // The sum over towers of a number on the host; towers meet by call site (see Rendezvous::sum).
  double sum_over_towers(double value, const std::source_location& where);
  // The sum over towers of a tensor of one shape, the same in each, differentiable. Every tower has to call it:
  // kFailedPrecondition in each, naming two that differ, otherwise. For losses that are not linear, in-batch negatives.
  at::Tensor global_sum(const at::Tensor& value, std::source_location where = std::source_location::current());
  // The values of all towers, in tower order; not differentiable. Strict, as global_sum.
  std::vector<at::Tensor> gather_towers(const std::string& what, const at::Tensor& value);

  // Lists of tensors, as gather_towers; for several replicas only. kFailedPrecondition, too, when the others do not
  // come within the timeout.
  std::vector<std::vector<at::Tensor>> gather_lists(const std::string& what, std::vector<at::Tensor> values,
                                                    std::optional<double> timeout_seconds);
  // Rendezvous::exchange for several replicas.
  std::vector<std::shared_ptr<const void>> exchange(const std::string& what, std::shared_ptr<const void> value,
                                                    std::optional<double> timeout_seconds);

  // Queues variable = value, or variable += delta, to be committed after the step in tower order: a variable must not
  // be written while other towers read it. With several towers every one's delta is added, and the last value stays.
  void assign(const std::string& variable, const at::Tensor& value);
  void assign_add(const std::string& variable, const at::Tensor& delta);

  struct Assignment {
    std::string variable;
    at::Tensor value;
    bool add;
  };
  const std::vector<Assignment>& assignments() const { return assignments_; }

  // Notes a loss, for verify_towers_every, where that is asked for: `what` is "losses::" or the optimizer call that it
  // was given to.
  void record_loss(const std::string& what, const at::Tensor& loss, const std::source_location& where);
  // With a text that tells call and place, the same in all towers.
  const std::vector<std::pair<std::string, double>>& recorded_losses() const { return recorded_losses_; }

  // Optimizers note here what they were asked to do, in the order of the calls, and who is to do it where no Estimator
  // does.
  void record(std::shared_ptr<PendingUpdate> update, MakeStepFinisher finisher);
  const std::vector<std::shared_ptr<PendingUpdate>>& updates() const { return updates_; }
  const std::set<MakeStepFinisher>& finishers() const { return finishers_; }

 private:
  template <class Arguments>
  void check_arguments(const std::string& name, Arguments arguments) {
    check_arguments(name, std::any(arguments), [](const std::any& known, const std::any& now) {
      const auto* a = std::any_cast<Arguments>(&known);
      const auto* b = std::any_cast<Arguments>(&now);
      return a && b && *a == *b;
    });
  }
  void check_arguments(const std::string& name, std::any arguments,
                       bool (*same)(const std::any& known, const std::any& now));

  CallSite next_occurrence(const std::source_location& where);
  void queue(const std::string& variable, const at::Tensor& value, bool add);

  Replica& replica_;
  Options options_;
  int64_t global_step_;
  int64_t collectives_ = 0;
  const uint64_t id_;
  std::vector<CallSite> passed_ = {};  // with the next occurrence of each in this step
  std::vector<Assignment> assignments_ = {};
  std::set<const Variable*> combined_ = {};
  std::vector<std::shared_ptr<PendingUpdate>> updates_ = {};
  std::set<MakeStepFinisher> finishers_ = {};
  std::vector<std::pair<std::string, double>> recorded_losses_ = {};
};

// Makes `context` the thread's current one while it lives.
class StepScope {
 public:
  explicit StepScope(StepContext& context);
  ~StepScope();
  StepScope(const StepScope&) = delete;
  StepScope& operator=(const StepScope&) = delete;

 private:
  StepContext* outer_;
};

}  // namespace belfry
