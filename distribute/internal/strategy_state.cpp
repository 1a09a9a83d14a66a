#include "distribute/internal/strategy_state.h"

#include <ATen/core/grad_mode.h>

#include <set>
#include <utility>

#include "core/error.h"
#include "distribute/internal/context_stack.h"
#include "distribute/random_scope.h"
#include "distribute/rendezvous.h"
#include "distribute/replica_context.h"
#include "distribute/step_context.h"
#include "distribute/strategy.h"

namespace belfry::internal {
namespace {

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

StrategyState::StrategyState(uint64_t seed, std::vector<LogicalDevice> devices, const LogicalDevice& parameter_device)
    : devices_(std::move(devices)), store_(seed, parameter_device.device), replicas_(store_, "replica") {
  store_.place_on({parameter_device});
}

ReplicaSet& StrategyState::replicas() {
  replicas_.use(devices_, VariablePlacement::kOfStore);
  return replicas_;
}

StrategyState::Steps StrategyState::make_steps() {
  if (std::exchange(last_step_, store_.global_step()) != store_.global_step()) runs_at_step_ = 0;
  StepContext::Options options;
  options.replica_count = static_cast<int>(devices_.size());
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

void StrategyState::run_replica(Strategy& strategy, StepContext& step, const std::function<void(size_t)>& work) {
  ReplicaContext context(strategy, step.tower_index(), &step);
  const ContextScope scope({&strategy, &context, true});
  const StepScope step_scope(step);
  const RandomScope random(step.random_seed());
  work(static_cast<size_t>(step.tower_index()));
  if (step.tower_count() > 1) replicas_.group().rendezvous().leave_sums(step.tower_index());
  for (const MakeStepFinisher make : step.finishers()) finisher(make).finish_replica(step);
}

void StrategyState::run(Strategy& strategy, const std::function<void(size_t)>& work) {
  const RunningFlag running(running_, strategy.name());
  if (broken_) {
    fail(ErrorKind::kFailedPrecondition, strategy.name(), ": an earlier run failed while it wrote the variables; make ",
         "a new strategy and restore a checkpoint");
  }
  replicas().begin_step();
  const Steps steps = make_steps();
  try {
    replicas_.run(static_cast<int>(steps.size()),
                  [&](int i) { run_replica(strategy, *steps[static_cast<size_t>(i)], work); });
    for (const auto& step : steps) step->replica().check_after_step();
    commit(steps);
  } catch (...) {
    replicas_.roll_back();
    broken_ = broken_ || replicas_.leaves_written();
    throw;
  }
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
