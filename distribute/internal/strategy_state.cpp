#include "distribute/internal/strategy_state.h"

#include <ATen/ATen.h>

#include <set>
#include <utility>

#include "core/error.h"
#include "core/log.h"
#include "distribute/internal/assignment_log.h"
#include "distribute/internal/context_stack.h"
#include "distribute/internal/initial_value.h"
#include "distribute/internal/variable_of_step.h"
#include "distribute/random_scope.h"
#include "distribute/rendezvous.h"
#include "distribute/replica_context.h"
#include "distribute/step_context.h"
#include "distribute/strategy.h"

namespace belfry::internal {
namespace {

// One line for each choice in a process: an Estimator makes strategies alike for each of its calls.
void announce(const std::string& choice) {
  static std::mutex mutex;
  static std::set<std::string> told;
  {
    const std::lock_guard lock(mutex);
    if (!told.insert(choice).second) return;
  }
  log_info(choice);
}

// Refuses a second run while one goes on.
class RunningFlag {
 public:
  RunningFlag(std::atomic<bool>& running, const std::string& name) : running_(running) {
    if (!running_.exchange(true)) return;
    fail(ErrorKind::kFailedPrecondition, "run of ", name,
         " was called while another run of it goes on, in a merge function or in another thread");
  }
  ~RunningFlag() { running_ = false; }
  RunningFlag(const RunningFlag&) = delete;
  RunningFlag& operator=(const RunningFlag&) = delete;

 private:
  std::atomic<bool>& running_;
};

}  // namespace

StrategyState::StrategyState(std::string announcement, uint64_t seed, std::vector<LogicalDevice> devices,
                             const LogicalDevice& parameter_device)
    : announcement_(std::move(announcement)),
      devices_(std::move(devices)),
      store_(seed, parameter_device.device),
      replicas_(store_, "replica") {
  store_.place_on({parameter_device});
}

ReplicaSet& StrategyState::replicas() {
  replicas_.use(devices_, VariablePlacement::kOfStore);
  if (!announcement_.empty()) announce(std::exchange(announcement_, ""));
  return replicas_;
}

StrategyState::Steps StrategyState::make_steps() {
  if (std::exchange(last_step_, store_.global_step()) != store_.global_step()) runs_at_step_ = 0;
  StepContext::Options options;
  options.replica_count = static_cast<int>(devices_.size());
  options.noun = replicas_.noun();
  if (devices_.size() > 1) options.rendezvous = &replicas_.group().rendezvous();
  options.training = at::GradMode::is_enabled();
  options.batch_number = runs_at_step_++;
  Steps steps;
  for (size_t i = 0; i < devices_.size(); ++i) {
    steps.push_back(std::make_unique<StepContext>(replicas_.replica(static_cast<int>(i)), options));
  }
  return steps;
}

StepFinisher& StrategyState::finisher(MakeStepFinisher make) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<StepFinisher>& known = finishers_[make];
  if (!known) known = make(store_);
  return *known;
}

std::shared_ptr<VariableState> StrategyState::variable(Strategy& strategy, const std::string& name,
                                                       const std::function<at::Tensor()>& initial,
                                                       const VariableOptions& options) {
  const bool trainable = is_trainable(store_, name, initial, options);
  const int copies = options.synchronization == VariableSynchronization::kOnRead ? strategy.copies_of_variables() : 1;
  const auto make = [&] {
    at::Tensor value = initial();
    check_options(name, options, value, strategy.copies_of_variables());
    return value;
  };
  // A leaf on this replica at once: what optimizers find must not depend on whether the value was read.
  const StepContext* step = thread_context().replica ? StepContext::current() : nullptr;
  Replica& replica = step ? step->replica() : replicas().replica(0);
  if (copies == 1) replica.variable(name, make, trainable);
  const VariableKind kind = trainable ? VariableKind::kParameter : VariableKind::kState;
  Variable& master = store_.get_or_create(name, kind, [&] { return make_initial(store_.seed(), name, make); });
  const std::lock_guard lock(mutex_);
  const auto found = variables_.find(name);
  if (found == variables_.end()) {
    auto made = std::make_shared<VariableState>(strategy, master, options, copies);
    return variables_.emplace(name, std::move(made)).first->second;
  }
  const VariableState& known = *found->second;
  if (known.options() == options) return found->second;
  fail(ErrorKind::kAlreadyExists, "variable '", name, "' is there with synchronization ",
       to_string(known.options().synchronization), " and aggregation ", to_string(known.options().aggregation),
       known.trainable() ? ", trainable" : ", not trainable", "; now other options are asked for");
}

void StrategyState::run_replicas(Strategy& strategy, const std::vector<StepContext*>& steps,
                                 const std::function<void(size_t)>& work) {
  for (const auto& [name, variable] : variables_) variable->begin_run();
  active_replicas_ = static_cast<int>(steps.size());
  try {
    replicas_.run(active_replicas_, [&](int i) {
      StepContext& step = *steps[static_cast<size_t>(i)];
      ReplicaContext context(strategy, i, &step);
      const ContextScope scope({&strategy, &context, true});
      const StepScope step_scope(step);
      const RandomScope random(step.random_seed());
      work(static_cast<size_t>(i));
    });
  } catch (...) {
    end_variables();
    throw;
  }
  end_variables();
}

void StrategyState::run_steps(Strategy& strategy, const std::vector<StepContext*>& steps,
                              const std::function<void(size_t)>& work) {
  const RunningFlag running(running_, strategy.name());
  run_replicas(strategy, steps, work);
}

void StrategyState::run(Strategy& strategy, const std::function<void(size_t)>& work) {
  const RunningFlag running(running_, strategy.name());
  if (broken_) {
    fail(ErrorKind::kFailedPrecondition, strategy.name(), ": an earlier run failed while it wrote the variables; make ",
         "a new strategy and restore a checkpoint");
  }
  replicas().begin_step();
  const Steps steps = make_steps();
  std::vector<StepContext*> contexts;
  for (const auto& step : steps) contexts.push_back(step.get());
  store_.assignments().begin();
  try {
    run_replicas(strategy, contexts, [&](size_t i) {
      work(i);
      StepContext& step = *contexts[i];
      if (step.tower_count() > 1) replicas_.group().rendezvous().leave_sums(step.tower_index());
      for (const MakeStepFinisher make : step.finishers()) finisher(make).finish_replica(step);
    });
    for (const auto& step : steps) step->replica().check_after_step();
    commit(steps);
    store_.assignments().commit();
  } catch (...) {
    store_.assignments().roll_back();
    replicas_.roll_back();
    broken_ = broken_ || replicas_.leaves_written();
    throw;
  }
}

void StrategyState::end_variables() {
  for (const auto& [name, variable] : variables_) variable->end_run();
}

void StrategyState::commit(const Steps& steps) {
  std::vector<const StepContext*> contexts;
  std::set<StepFinisher*> used;
  for (const auto& step : steps) {
    contexts.push_back(step.get());
    for (const MakeStepFinisher make : step->finishers()) used.insert(&finisher(make));
  }
  for (StepFinisher* finisher : used) finisher->prepare(contexts);
  replicas_.prepare(contexts);
  broken_ = true;
  for (StepFinisher* finisher : used) finisher->commit(replicas_, contexts);
  replicas_.commit(contexts);
  if (!used.empty()) {
    store_.set_global_step(store_.global_step() + 1);
    replicas_.bump_leaves();
  }
  broken_ = false;
}

}  // namespace belfry::internal
