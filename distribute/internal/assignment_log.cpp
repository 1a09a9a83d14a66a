#include "distribute/internal/assignment_log.h"

#include <ATen/ATen.h>

#include "distribute/variable.h"

namespace belfry::internal {

void AssignmentLog::begin() {
  const std::lock_guard lock(mutex_);
  kept_.clear();
  active_ = true;
}

void AssignmentLog::note(const Variable& variable, const std::function<Undo()>& make_undo) {
  const std::lock_guard lock(mutex_);
  ++count_;
  if (!active_ || kept_.contains(&variable)) return;
  kept_.emplace(&variable, Kept{variable.value().detach().clone(), make_undo()});
}

void AssignmentLog::commit() {
  const std::lock_guard lock(mutex_);
  kept_.clear();
  active_ = false;
}

void AssignmentLog::roll_back() {
  const std::lock_guard lock(mutex_);
  for (const auto& [variable, kept] : kept_) kept.undo();
  kept_.clear();
  active_ = false;
}

at::Tensor AssignmentLog::value_before(const Variable& variable) const {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(&variable);
  return found == kept_.end() ? variable.value() : found->second.value;
}

}  // namespace belfry::internal
