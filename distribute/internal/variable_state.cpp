#include "distribute/internal/variable_state.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "distribute/internal/assignment_log.h"
#include "distribute/internal/context_stack.h"
#include "distribute/internal/reduce_values.h"
#include "distribute/replica_context.h"
#include "distribute/step_context.h"
#include "distribute/strategy.h"

namespace belfry::internal {
namespace {

using Lists = std::vector<std::vector<at::Tensor>>;

void apply(char operation, at::Tensor& value, const at::Tensor& by) {
  if (operation == '=') {
    value.copy_(by);
  } else {
    value.add_(by.to(value.device()), operation == '+' ? 1 : -1);
  }
}

const char* call_of(char operation) {
  return operation == '=' ? "assign" : operation == '+' ? "assign_add" : "assign_sub";
}

}  // namespace

VariableState::VariableState(Strategy& strategy, Variable& master, const VariableOptions& options, int copies)
    : strategy_(strategy), store_(&strategy.store()), master_(&master), options_(options) {
  if (copies < 2) return;
  for (int i = 0; i < copies; ++i) {
    // The first value is every copy's; a restored one is that of all together.
    copies_.push_back(at::empty_like(master.value(), strategy.worker_devices()[static_cast<size_t>(i)].device));
    copies_.back().copy_(master.value());
  }
  master_version_ = master.version();
  if (strategy.store().was_restored(master.name())) {
    --master_version_;
    take_restored();
  } else {
    combine_copies();
  }
}

VariableState::VariableState(Strategy& strategy, std::unique_ptr<Variable> own, const VariableOptions& options)
    : strategy_(strategy), own_(std::move(own)), master_(own_.get()), options_(options) {}

VariableState::VariableState(Strategy& none, Variable& master, const VariableOptions& options,
                             const VariableStore& store)
    : strategy_(none), store_(&store), master_(&master), options_(options) {}

StepContext* VariableState::current_step() const {
  if (own_) return nullptr;  // an ordinary variable has no replicas
  StepContext* step = StepContext::current();
  const ReplicaContext* replica = thread_context().replica;
  if (!step || (!replica && in_cross_replica_context())) return nullptr;
  if (&step->store() == store_) return step;
  if (!replica) return nullptr;
  fail(ErrorKind::kFailedPrecondition, "variable '", name(), "' of ", strategy_.name(), " was used in a replica of ",
       replica->strategy().name());
}

at::Tensor VariableState::value() {
  StepContext* step = current_step();
  if (!step) {
    if (!has_copies()) return master_->value();
    if (!strategy_.is_running()) take_restored();
    return aggregated("value", copies_);
  }
  if (has_copies()) {
    require(!trainable() || !at::GradMode::is_enabled(), "variable '", name(),
            "' is trainable and another one on each ",
            "replica (ON_READ): no optimizer can move its copies. Make it ON_WRITE");
    return copies_[static_cast<size_t>(step->tower_index())];
  }
  if (!is_leaf()) return master_->value().to(step->device());
  return step->replica().variable(
      name(), [this] { return master_->value(); }, trainable());
}

// Without a strategy, what is read as it is on each replica is no leaf of the model: it may be written while it is
// read.
bool VariableState::is_leaf() const {
  return trainable() || strategy_.has_variables() || options_.synchronization != VariableSynchronization::kOnRead;
}

at::Tensor VariableState::checked(const at::Tensor& value, const char* call) const {
  const at::Tensor& mine = master_->value();
  require(value.sizes() == mine.sizes(), call, ": variable '", name(), "' has shape ", mine.sizes(),
          " and was given a value of shape ", value.sizes());
  require(at::can_cast(value.scalar_type(), mine.scalar_type()), call, ": variable '", name(), "' holds ",
          mine.scalar_type(), " and was given ", value.scalar_type(), ", of which a part would be lost");
  return value.detach().to(mine.scalar_type());
}

void VariableState::change(char operation, const at::Tensor& value) {
  const at::NoGradGuard no_grad;
  const char* call = call_of(operation);
  const at::Tensor given = checked(value, call);
  StepContext* step = current_step();
  if (!step) return change_everywhere(operation, given);
  if (step->is_trial()) return;
  note_assignment();
  if (has_copies()) return apply(operation, copies_[static_cast<size_t>(step->tower_index())], given);
  change_together(*step, call, {given}, [&](at::Tensor& mine, const Lists& all) {
    std::vector<at::Tensor> values;
    for (const auto& list : all) values.push_back(list[0]);
    apply(operation, mine, step->tower_count() == 1 ? values[0] : aggregated(call, values));
  });
}

void VariableState::check_number_for_all(char operation, double number) const {
  const StepContext* step = current_step();
  const bool in_replicas = step && !has_copies() && step->tower_count() > 1;
  require(!in_replicas || options_.aggregation != VariableAggregation::kSum, call_of(operation), ": variable '", name(),
          "' adds up what replicas give, and was given one number, ", number,
          ", for all: it could be meant once or for each replica. Give a tensor, which counts for each");
}

void VariableState::change_by_number(char operation, int64_t number) {
  check_number_for_all(operation, static_cast<double>(number));
  change(operation, at::full(master_->value().sizes(), number, master_->value().options().device(at::kCPU)));
}

void VariableState::change_by_number(char operation, double number) {
  const at::ScalarType dtype = master_->value().scalar_type();
  require(!at::isIntegralType(dtype, true) || number == std::floor(number), call_of(operation), ": variable '", name(),
          "' holds ", dtype, " and was given ", number, ", of which a part would be lost");
  check_number_for_all(operation, number);
  change(operation, at::full(master_->value().sizes(), number, master_->value().options().device(at::kCPU)));
}

void VariableState::change_together(
    StepContext& step, const char* call, std::vector<at::Tensor> given,
    const std::function<void(at::Tensor&, const std::vector<std::vector<at::Tensor>>&)>& combine) {
  const auto write = [&](const Lists& all) {
    at::Tensor mine = master_->value();
    combine(mine, all);
    master_->bump_version();
  };
  if (step.tower_count() == 1) {
    write({given});
  } else {
    require(options_.aggregation != VariableAggregation::kNone, call, ": variable '", name(),
            "' was assigned in a replica and has no aggregation: give SUM, MEAN or ONLY_FIRST_REPLICA, or assign it ",
            "outside the run");
    const std::string what = concat(call, " of variable '", name(), "'");
    const Lists all = step.gather_lists(what, std::move(given), strategy_.options_of({}).timeout_seconds);
    if (step.tower_index() == 0) write(all);
    step.gather_lists("the end of " + what, {}, std::nullopt);
  }
  // No meeting after it: the next write is one, to which nobody comes before it has read this one.
  step.replica().take_written(*master_);
}

void VariableState::check_idle(const char* call) const {
  if (own_ || !strategy_.is_running()) return;
  if (thread_context().merging) return;
  fail(ErrorKind::kFailedPrecondition, call, ": variable '", name(),
       "' was assigned outside the replicas while they run");
}

void VariableState::change_everywhere(char operation, const at::Tensor& value) {
  check_idle(call_of(operation));
  if (!has_copies()) {
    note_assignment();
    at::Tensor mine = master_->value();
    apply(operation, mine, value);
    return note_written();
  }
  take_restored();
  const VariableAggregation aggregation = options_.aggregation;
  require(aggregation != VariableAggregation::kNone, call_of(operation), ": variable '", name(),
          "' is read as it is on each replica and has no aggregation, so that it has no value outside of them");
  const bool sum = aggregation == VariableAggregation::kSum;
  require(!sum || operation == '=', call_of(operation), ": variable '", name(),
          "' is the sum of what replicas hold; add to it in a replica, or assign its value");
  note_assignment();
  for (size_t i = 0; i < copies_.size(); ++i) apply(operation, copies_[i], sum ? share_of(value, i) : value);
  end_run();
}

void VariableState::note_written() {
  master_->bump_version();
  if (!thread_context().merging) return;
  StepContext* step = StepContext::current();
  if (step && &step->store() == store_) step->replica().take_written(*master_);
  if (strategy_.has_variables()) strategy_.note_written_in_merge(*master_);  // for the other replicas
}

// Shares of integers differ by one at most, and come to the total exactly.
at::Tensor VariableState::share_of(const at::Tensor& total, size_t i) const {
  const auto copies = static_cast<int64_t>(copies_.size());
  if (!at::isIntegralType(total.scalar_type(), false)) return total / static_cast<double>(copies);
  const at::Tensor share = at::div(total, copies, "floor");
  return share + (total - share * copies).gt(static_cast<int64_t>(i));
}

void VariableState::scatter_add(const at::Tensor& indices, const at::Tensor& rows) {
  const at::NoGradGuard no_grad;
  const at::Tensor& like = master_->value();
  require(like.dim() > 0 && indices.dim() == 1 && at::isIntegralType(indices.scalar_type(), false) &&
              rows.dim() == like.dim() && rows.size(0) == indices.size(0) &&
              rows.sizes().slice(1) == like.sizes().slice(1),
          "scatter_add: variable '", name(), "' has shape ", like.sizes(), " and was given ", indices.scalar_type(),
          " indices of shape ", indices.sizes(), " and rows of shape ", rows.sizes());
  require(indices.numel() == 0 || (indices.min().item<int64_t>() >= 0 && indices.max().item<int64_t>() < like.size(0)),
          "scatter_add: variable '", name(), "' has ", like.size(0), " rows; an index is out of range");
  StepContext* step = current_step();
  if (step && step->is_trial()) return;
  if (step) note_assignment();
  const at::Tensor given = rows.detach().to(like.scalar_type());
  const at::Tensor places = indices.to(at::kLong);
  const auto add_to = [](at::Tensor& value, const at::Tensor& at_rows, const at::Tensor& what) {
    value.index_add_(0, at_rows.to(value.device()), what.to(value.device()));
  };
  if (step && has_copies()) return add_to(copies_[static_cast<size_t>(step->tower_index())], places, given);
  if (step) {
    return change_together(*step, "scatter_add", {places, given}, [&](at::Tensor& mine, const Lists& all) {
      const bool first_only = options_.aggregation == VariableAggregation::kOnlyFirstReplica;
      const double parts = options_.aggregation == VariableAggregation::kMean ? static_cast<double>(all.size()) : 1.0;
      for (size_t i = 0; i < (first_only ? 1 : all.size()); ++i) {
        add_to(mine, all[i][0], parts == 1.0 ? all[i][1] : all[i][1] / parts);
      }
    });
  }
  at::Tensor delta = at::zeros_like(like);
  add_to(delta, places, given);
  change_everywhere('+', delta);
}

at::Tensor VariableState::aggregated(const char* call, const std::vector<at::Tensor>& values) const {
  const at::Device device = master_->value().device();
  switch (options_.aggregation) {
    case VariableAggregation::kSum:
      return reduce_over_replicas(call, ReduceOp::kSum, values, device);
    case VariableAggregation::kMean:
      return reduce_over_replicas(call, ReduceOp::kMean, values, device);
    case VariableAggregation::kOnlyFirstReplica:
      return values[0].to(device);
    case VariableAggregation::kNone:
      break;
  }
  fail(ErrorKind::kInvalidArgument, call, ": variable '", name(),
       "' is another one on each replica and has no aggregation: read it in a replica, or give it one");
}

void VariableState::update_copies(const std::function<void(at::Tensor& copy, size_t replica)>& change) {
  if (const StepContext* step = current_step()) {
    fail(ErrorKind::kFailedPrecondition, "update of variable '", name(), "' was called by replica ",
         step->tower_index(), " inside a run; use merge_call, or assign it");
  }
  check_idle("update");
  const at::NoGradGuard no_grad;
  take_restored();
  note_assignment();
  if (!has_copies()) {
    at::Tensor mine = master_->value();
    change(mine, 0);
    return note_written();
  }
  for (size_t i = 0; i < std::min(copies_.size(), strategy_.replicas_at_hand()); ++i) change(copies_[i], i);
  end_run();
}

std::vector<at::Tensor> VariableState::components() {
  if (!strategy_.is_running()) take_restored();
  if (has_copies()) return copies_;
  // Copies that are equal at all times: how many the strategy speaks of, whatever memory they share.
  return std::vector<at::Tensor>(static_cast<size_t>(strategy_.copies_of_variables()), master_->value());
}

void VariableState::take_restored() {
  if (!has_copies() || master_version_ == master_->version()) return;
  const at::NoGradGuard no_grad;
  const bool sum = options_.aggregation == VariableAggregation::kSum;
  for (size_t i = 0; i < copies_.size(); ++i) copies_[i].copy_(sum ? share_of(master_->value(), i) : master_->value());
  master_version_ = master_->version();
}

void VariableState::note_assignment() {
  if (has_copies()) copies_written_ = true;
  if (!store_) return;
  store_->assignments().note(*master_, [&]() -> AssignmentLog::Undo {
    std::vector<at::Tensor> copies;
    for (const at::Tensor& copy : copies_) copies.push_back(copy.clone());
    return [self = shared_from_this(), value = master_->value().clone(), copies = std::move(copies)] {
      const at::NoGradGuard no_grad;
      self->master_->assign(value);
      for (size_t i = 0; i < copies.size(); ++i) self->copies_[i].copy_(copies[i]);
      self->copies_written_ = false;
      self->master_version_ = self->master_->version();
    };
  });
}

void VariableState::end_run() {
  if (copies_written_.exchange(false)) combine_copies();
}

void VariableState::combine_copies() {
  const at::NoGradGuard no_grad;
  // Without an aggregation a checkpoint holds replica 0's.
  master_->assign(options_.aggregation == VariableAggregation::kNone ? copies_[0] : aggregated("value", copies_));
  master_version_ = master_->version();
}

}  // namespace belfry::internal
