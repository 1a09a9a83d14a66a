#include "optimizers/update_committer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/error.h"
#include "distribute/replica_group.h"
#include "distribute/step_context.h"
#include "optimizers/internal/combine_gradients.h"
#include "optimizers/internal/update_plan.h"
#include "optimizers/optimizer.h"

namespace belfry {
namespace {

using internal::Target;

// Sets of variables that differ from step to step (a loss that skips some) make a plan each.
constexpr size_t kPlansKept = 64;

std::string call_of(const PendingUpdate& update) { return update.call() + " of " + update.optimizer().name(); }

std::string call_or_nothing(const StepContext& tower, size_t k) {
  return k < tower.updates().size() ? tower.updates()[k]->description() : "nothing";
}

void check_same_calls(const std::vector<const StepContext*>& towers) {
  for (const StepContext* tower : towers) {
    const size_t calls = std::max(tower->updates().size(), towers[0]->updates().size());
    for (size_t k = 0; k < calls; ++k) {
      const bool both = k < tower->updates().size() && k < towers[0]->updates().size();
      if (both && call_of(*tower->updates()[k]) == call_of(*towers[0]->updates()[k])) continue;
      fail(ErrorKind::kFailedPrecondition, "every tower has to make the same optimizer calls in the same order; call ",
           k + 1, " of tower ", towers[0]->tower_index(), " is ", call_or_nothing(*towers[0], k), ", of tower ",
           tower->tower_index(), " ", call_or_nothing(*tower, k));
    }
  }
}

bool reaches_any(const std::vector<GradientsAndVariables>& towers) {
  for (const GradientsAndVariables& tower : towers) {
    for (const GradientAndVariable& entry : tower) {
      if (entry.gradient.defined()) return true;
    }
  }
  return false;
}

// What each variable gets, sorted by name: the towers' gradients in tower order, absent ones left out. They are taken
// out of the update, so that memory that only it held can be added to in place.
std::vector<Target> targets_of(PendingUpdate& update) {
  std::map<std::string_view, Target> targets;
  for (GradientsAndVariables& tower : update.gradients) {
    for (GradientAndVariable& entry : tower) {
      if (!entry.gradient.defined()) continue;
      Target& target = targets.try_emplace(entry.variable->name()).first->second;
      target.variable = entry.variable;
      if (!entry.combined || target.gradients.empty()) target.gradients.push_back(std::move(entry.gradient));
    }
  }
  std::vector<Target> sorted;
  for (auto& [name, target] : targets) sorted.push_back(std::move(target));
  return sorted;
}

// Whether `rule` can take the rows that occur by themselves.
bool takes_rows(const UpdateRule& rule, const at::Tensor& gradient) {
  return gradient.sparse_dim() == 1 && !rule.moves_all_rows() && rule.grain() != UpdateGrain::kVariable;
}

// Row-sparse gradients are joined here; with a dense one among them, or for a rule that wants all rows, made dense.
void settle_layout(Target& target, const UpdateRule& rule) {
  const auto sparse = [](const at::Tensor& gradient) { return gradient.is_sparse(); };
  if (std::any_of(target.gradients.begin(), target.gradients.end(), sparse)) {
    at::Tensor sum = internal::sum_gradients(target.gradients);
    if (sum.is_sparse() && !takes_rows(rule, sum)) sum = sum.to_dense();
    target.gradients = {sum};
  }
  for (at::Tensor& gradient : target.gradients) {
    if (!gradient.is_sparse()) gradient = target.variable->in_layout(gradient);
  }
  const at::Tensor& first = target.gradients[0];
  target.in_place = !first.is_sparse() && first.use_count() == 1 && first.storage().use_count() == 1;
}

void check_rate(const PendingUpdate& update, double rate, int64_t global_step) {
  const bool positive = update.optimizer().rule().wants_positive_rate();
  if (std::isfinite(rate) && (positive ? rate > 0 : rate >= 0)) return;
  fail(ErrorKind::kInvalidArgument, update.description(), ": the learning rate of global step ", global_step, " is ",
       rate, "; a number ", positive ? "above 0" : "of 0 or above", " is wanted");
}

}  // namespace

void check_complete(const TrainOp& train_op, const StepContext& context) {
  const auto& given = train_op.updates();
  const auto& made = context.updates();
  for (const auto& update : made) {
    const auto times = std::count(given.begin(), given.end(), update);
    if (times == 1) continue;
    fail(ErrorKind::kInvalidArgument, update->description(),
         times > 1 ? " is part of the train_op more than once"
                   : " is not part of the train_op: give group({...}) of all of them to EstimatorSpec::train");
  }
  for (const auto& update : given) {
    if (std::find(made.begin(), made.end(), update) != made.end()) continue;
    fail(ErrorKind::kInvalidArgument, update->description(),
         " is part of the train_op and was made in another step: a train op is made anew in each");
  }
}

TrainOp merge_tower_updates(const std::vector<const StepContext*>& towers) {
  check_same_calls(towers);
  std::vector<std::shared_ptr<PendingUpdate>> merged;
  for (size_t k = 0; k < towers[0]->updates().size(); ++k) {
    const PendingUpdate& first = *towers[0]->updates()[k];
    auto update = std::make_shared<PendingUpdate>(first.optimizer(), first.call(), first.where());
    for (const StepContext* tower : towers) {
      for (GradientsAndVariables& gradients : tower->updates()[k]->gradients) {
        update->gradients.push_back(std::move(gradients));
      }
    }
    if (!reaches_any(update->gradients)) {
      fail(ErrorKind::kInvalidArgument, first.description(),
           ": no gradients are provided: in no tower does the loss reach a trainable variable");
    }
    merged.push_back(std::move(update));
  }
  return TrainOp(std::move(merged));
}

class UpdateCommitter::Plan : public internal::UpdatePlan {
  using internal::UpdatePlan::UpdatePlan;
};

struct UpdateCommitter::Prepared {
  Plan* plan;
  std::vector<Target> targets;
  Variable* iterations;
  bool first_of_name;  // optimizers of one name share a counter, which counts steps
  double learning_rate;
};

UpdateCommitter::UpdateCommitter(VariableStore& store) : store_(store) {}
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

void UpdateCommitter::prepare(const TrainOp& train_op) {
  prepared_.clear();
  if (plans_.size() > kPlansKept) plans_.clear();
  std::set<std::string> used;
  std::set<std::string> names;
  for (const auto& update : train_op.updates()) {
    const Optimizer& optimizer = update->optimizer();
    Prepared prepared{nullptr, targets_of(*update), nullptr, names.insert(optimizer.name()).second,
                      optimizer.learning_rate(store_.global_step())};
    check_rate(*update, prepared.learning_rate, store_.global_step());
    for (Target& target : prepared.targets) {
      settle_layout(target, optimizer.rule());
      if (optimizer.rule().slots().empty()) continue;
      if (used.insert(optimizer.name() + "/" + target.variable->name()).second) continue;
      fail(ErrorKind::kAlreadyExists, update->description(), " and another optimizer of that name both update '",
           target.variable->name(), "' in one step: give one a .name of its own");
    }
    const auto known = std::find_if(plans_.begin(), plans_.end(),
                                    [&](const auto& plan) { return plan->fits(optimizer, prepared.targets); });
    if (known == plans_.end()) {
      plans_.push_back(std::make_unique<Plan>(store_, optimizer, prepared.targets));
      prepared.plan = plans_.back().get();
    } else {
      prepared.plan = known->get();
    }
    if (optimizer.rule().counts_updates()) {
      prepared.iterations = &store_.get_or_create(optimizer.iterations_name(), VariableKind::kState, [&] {
        return at::full({}, updates_before(optimizer, prepared.targets), at::kLong);
      });
    }
    prepared_.push_back(std::move(prepared));
  }
}

void UpdateCommitter::commit(const TrainOp& train_op, ReplicaGroup* replicas, int active) {
  const at::NoGradGuard no_grad;
  for (size_t k = 0; k < prepared_.size(); ++k) {
    Prepared& prepared = prepared_[k];
    const Optimizer& optimizer = train_op.updates()[k]->optimizer();
    UpdateArguments arguments{prepared.learning_rate, 0};
    if (prepared.iterations) {
      if (prepared.first_of_name) {
        prepared.iterations->value().add_(1);
        prepared.iterations->bump_version();
      }
      arguments.count = prepared.iterations->value().item<int64_t>();
    }
    if (replicas && active > 1) {
      prepared.plan->cut(active);
      replicas->run(active,
                    [&](int i) { prepared.plan->apply_share(optimizer.rule(), arguments, prepared.targets, i); });
    } else {
      prepared.plan->apply(optimizer.rule(), arguments, prepared.targets);
    }
    for (const Target& target : prepared.targets) target.variable->bump_version();
  }
  prepared_.clear();
}

}  // namespace belfry
