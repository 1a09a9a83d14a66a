#include "optimizers/internal/accumulator.h"

#include <ATen/ATen.h>

namespace belfry::internal {
namespace {

// "Moves" a sum by weight * gradient.
class AddRule : public UpdateRule {
 public:
  std::string name() const override { return "Accumulate"; }
  void apply(const UpdateArguments& arguments, UpdateLists& lists) const override {
    at::_foreach_add_(lists.parameters, lists.gradients, arguments.learning_rate);
  }
};

int64_t rows_in(const at::Tensor& value) { return value.dim() > 0 ? value.size(0) : 1; }

}  // namespace

Accumulator::Accumulator(VariableStore& store, PlanCache& plans, const Optimizer& optimizer)
    : store_(store),
      plans_(plans),
      scope_("belfry/training/" + optimizer.name() + "/"),
      adder_(std::make_shared<AddRule>(), LearningRate(1.0), optimizer.name() + "/accumulated"),
      steps_(store.get_or_create(scope_ + "accumulated_steps", VariableKind::kState,
                                 [] { return at::zeros({}, at::kLong); })),
      rows_(store.get_or_create(scope_ + "accumulated_rows", VariableKind::kState,
                                [] { return at::zeros({}, at::kDouble); })) {
  take_over_restored(optimizer);
}

// A checkpoint may hold sums of variables that no step of this process has asked for yet.
void Accumulator::take_over_restored(const Optimizer& optimizer) {
  const std::string prefix = scope_ + "accumulated/";
  for (const std::string& name : store_.waiting_names(prefix)) {
    const std::string variable = name.substr(prefix.size());
    if (Variable* found = store_.find_or_take(variable, VariableKind::kParameter)) sum_of(*found, optimizer);
  }
}

Accumulator::Sum& Accumulator::sum_of(Variable& variable, const Optimizer& optimizer) {
  const auto found = sums_.find(variable.name());
  if (found != sums_.end()) return found->second;
  const at::Tensor& value = variable.value();
  Variable& gathered = store_.get_or_create(scope_ + "accumulated/" + variable.name(), VariableKind::kSlot,
                                            [&] { return at::zeros_like(value); });
  Variable& touched = store_.get_or_create(scope_ + "touched/" + variable.name(), VariableKind::kSlot, [&] {
    return at::zeros({rows_in(value)}, value.options().dtype(at::kBool));
  });
  // Now, while a failure changes nothing: only the last step of a window uses them.
  slots_of(optimizer, variable, store_);
  return sums_.try_emplace(variable.name(), Sum{&variable, &gathered, &touched}).first->second;
}

void Accumulator::prepare(const Optimizer& optimizer, std::vector<Target> targets, int64_t rows, bool ends_input) {
  targets_ = std::move(targets);
  added_.clear();
  for (Target& target : targets_) {
    settle_layout(target, adder_.rule());
    const Sum& sum = sum_of(*target.variable, optimizer);
    added_.push_back(&sum);
    target.variable = sum.gathered;
  }
  plan_ = &plans_.plan_for(adder_, targets_);
  const Accumulation& wanted = optimizer.accumulation();
  sums_up_ = wanted.kind == AccumulationKind::kSum;
  step_rows_ = static_cast<double>(rows);
  completes_ = ends_input || steps_.value().item<int64_t>() + 1 >= wanted.steps;
}

void Accumulator::add(ReplicaGroup* replicas, int active) {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < targets_.size(); ++i) {
    const at::Tensor& touched = added_[i]->touched->value();
    if (targets_[i].is_sparse()) {
      touched.index_fill_(0, targets_[i].gradients[0].coalesce().indices()[0].to(touched.device()), 1);
    } else {
      touched.fill_(true);
    }
  }
  apply_plan(*plan_, adder_.rule(), {sums_up_ ? 1.0 : step_rows_, 0}, targets_, replicas, active);
  targets_.clear();
  steps_.value().add_(1);
  rows_.value().add_(step_rows_);
}

Target Accumulator::average(const Sum& sum) const {
  const at::Tensor& gathered = sum.gathered->value();
  const at::Tensor& touched = sum.touched->value();
  const double rows = sums_up_ ? 1.0 : rows_.value().item<double>();
  if (touched.all().item<bool>()) return {sum.variable, {gathered / rows}, false};
  const at::Tensor rows_touched = touched.nonzero().flatten();
  const at::Tensor values = gathered.index_select(0, rows_touched) / rows;
  return {sum.variable,
          {at::_sparse_coo_tensor_unsafe(rows_touched.unsqueeze(0), values, gathered.sizes(),
                                         gathered.options().layout(at::kSparse), /*is_coalesced=*/true)},
          false};
}

std::vector<Target> Accumulator::take() {
  const at::NoGradGuard no_grad;
  std::vector<Target> targets;
  for (const auto& [name, sum] : sums_) {
    if (!sum.touched->value().any().item<bool>()) continue;
    targets.push_back(average(sum));
    sum.gathered->value().zero_();
    sum.touched->value().zero_();
  }
  steps_.value().zero_();
  rows_.value().zero_();
  return targets;
}

}  // namespace belfry::internal
