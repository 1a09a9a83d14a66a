#include "optimizers/update_committer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/log.h"
#include "optimizers/internal/accumulator.h"
#include "optimizers/internal/plan_cache.h"
#include "optimizers/internal/reduce_flat.h"
#include "optimizers/optimizer.h"

namespace belfry {
namespace {

using internal::Target;

void check_rate(const PendingUpdate& update, double rate, int64_t global_step) {
  const bool positive = update.optimizer().rule().wants_positive_rate();
  if (std::isfinite(rate) && (positive ? rate > 0 : rate >= 0)) return;
  fail(ErrorKind::kInvalidArgument, update.description(), ": the learning rate of global step ", global_step, " is ",
       rate, "; a number ", positive ? "above 0" : "of 0 or above", " is wanted");
}

}  // namespace

struct UpdateCommitter::Prepared {
  std::vector<Target> targets;
  internal::UpdatePlan* plan = nullptr;          // null while gradients are gathered
  internal::Accumulator* accumulator = nullptr;  // null where every step is applied
  Variable* iterations = nullptr;
  bool first_of_name = true;  // optimizers of one name share a counter, which counts steps
  double learning_rate = 0;
};

UpdateCommitter::UpdateCommitter(VariableStore& store)
    : store_(store), plans_(std::make_unique<internal::PlanCache>(store)) {}
UpdateCommitter::~UpdateCommitter() = default;

// A checkpoint of TensorFlow has no counter: there the global step is the count. An optimizer whose slots did not come
// with the checkpoint starts anew.
int64_t UpdateCommitter::updates_before(const Optimizer& optimizer, const std::vector<Target>& targets) const {
  const std::vector<std::string> slots = optimizer.get_slot_names();
  const bool restored = std::any_of(targets.begin(), targets.end(), [&](const Target& target) {
    return !slots.empty() && store_.was_restored(optimizer.slot_name(target.variable->name(), slots[0]));
  });
  return restored ? store_.global_step() : 0;
}

bool UpdateCommitter::accumulates(const TrainOp& train_op) {
  return std::any_of(train_op.updates().begin(), train_op.updates().end(),
                     [](const auto& update) { return update->optimizer().accumulation().steps > 1; });
}

void UpdateCommitter::prepare(const TrainOp& train_op, const StepFacts& facts) {
  prepared_.clear();
  plans_->trim();
  std::set<std::string> used;
  std::set<std::string> names;
  for (const auto& update : train_op.updates()) {
    const Optimizer& optimizer = update->optimizer();
    Prepared prepared;
    prepared.targets = internal::targets_of(*update);
    prepared.first_of_name = names.insert(optimizer.name()).second;
    prepared.learning_rate = optimizer.learning_rate(store_.global_step());
    check_rate(*update, prepared.learning_rate, store_.global_step());
    reduce_on_gpus(prepared.targets, update->gradients.size());
    for (const Target& target : prepared.targets) {
      if (optimizer.rule().slots().empty()) continue;
      if (used.insert(optimizer.name() + "/" + target.variable->name()).second) continue;
      fail(ErrorKind::kAlreadyExists, update->description(), " and another optimizer of that name both update '",
           target.variable->name(), "' in one step: give one a .name of its own");
    }
    if (optimizer.rule().counts_updates()) {
      prepared.iterations = &store_.get_or_create(optimizer.iterations_name(), VariableKind::kState, [&] {
        return at::full({}, updates_before(optimizer, prepared.targets), at::kLong);
      });
    }
    if (optimizer.accumulation().steps > 1 || (prepared.first_of_name && has_gathered(optimizer))) {
      prepare_to_gather(*update, prepared, facts);
    } else {
      prepared.plan = &plan_for(optimizer, prepared.targets);
    }
    prepared_.push_back(std::move(prepared));
  }
}

void UpdateCommitter::reduce_on_gpus(std::vector<Target>& targets, size_t towers) {
  const std::string way = internal::reduce_over_gpus(targets, towers);
  if (!way.empty() && !std::exchange(told_of_gpus_, true)) log_info(way);
}

internal::UpdatePlan& UpdateCommitter::plan_for(const Optimizer& optimizer, std::vector<Target>& targets) {
  for (Target& target : targets) internal::settle_layout(target, optimizer.rule());
  return plans_->plan_for(optimizer, targets);
}

// By an optimizer of that name that accumulated more steps, in this process or before the checkpoint: its window ends
// with the step at hand, instead of waiting for one that may never come or come much later.
bool UpdateCommitter::has_gathered(const Optimizer& optimizer) const {
  const Variable* steps =
      store_.find_or_take("belfry/training/" + optimizer.name() + "/accumulated_steps", VariableKind::kState);
  return steps && steps->value().item<int64_t>() > 0;
}

void UpdateCommitter::prepare_to_gather(const PendingUpdate& update, Prepared& prepared, const StepFacts& facts) {
  const Optimizer& optimizer = update.optimizer();
  if (!prepared.first_of_name) {
    fail(ErrorKind::kAlreadyExists, update.description(),
         " and another optimizer of that name both accumulate gradients in one step: give one a .name of its own");
  }
  auto& accumulator = accumulators_[optimizer.name()];
  if (!accumulator) accumulator = std::make_unique<internal::Accumulator>(store_, *plans_, optimizer);
  accumulator->prepare(optimizer, std::move(prepared.targets), facts.rows, facts.ends_input);
  prepared.accumulator = accumulator.get();
}

// False while the window goes on.
bool UpdateCommitter::gather(const Optimizer& optimizer, Prepared& prepared, ReplicaGroup* replicas, int active) {
  prepared.accumulator->add(replicas, active);
  if (!prepared.accumulator->completes()) return false;
  prepared.targets = prepared.accumulator->take();
  prepared.plan = &plan_for(optimizer, prepared.targets);
  return true;
}

void UpdateCommitter::commit(const TrainOp& train_op, ReplicaGroup* replicas, int active) {
  const at::NoGradGuard no_grad;
  for (size_t k = 0; k < prepared_.size(); ++k) {
    Prepared& prepared = prepared_[k];
    const Optimizer& optimizer = train_op.updates()[k]->optimizer();
    if (prepared.accumulator && !gather(optimizer, prepared, replicas, active)) continue;
    UpdateArguments arguments{prepared.learning_rate, 0};
    if (prepared.iterations) {
      if (prepared.first_of_name) {
        prepared.iterations->value().add_(1);
        prepared.iterations->bump_version();
      }
      arguments.count = prepared.iterations->value().item<int64_t>();
    }
    internal::apply_plan(*prepared.plan, optimizer.rule(), arguments, prepared.targets, replicas, active);
    for (const Target& target : prepared.targets) target.variable->bump_version();
  }
  prepared_.clear();
}

}  // namespace belfry
