#include "distribute/replica_set.h"

#include <ATen/ATen.h>

#include "core/error.h"

namespace belfry {
namespace {

const Replica::Buffer* find_buffer(const Replica& replica, const Variable* variable) {
  for (const Replica::Buffer& buffer : replica.buffers()) {
    if (buffer.variable == variable) return &buffer;
  }
  return nullptr;
}

bool is_averaged(const Replica::Buffer& buffer) {
  return at::isFloatingType(buffer.tensor.scalar_type()) || at::isComplexType(buffer.tensor.scalar_type());
}

// The weighted mean over the steps whose replica has the buffer; that of a lone one as it is, to the bit.
void average_into(Variable& variable, const std::vector<const StepContext*>& steps) {
  std::vector<std::pair<at::Tensor, double>> values;
  double total = 0;
  for (const StepContext* step : steps) {
    const Replica::Buffer* buffer = find_buffer(step->replica(), &variable);
    if (!buffer) continue;
    values.emplace_back(buffer->tensor, step->loss_policy().row_weight);
    total += values.back().second;
  }
  if (values.size() == 1 || total == 0) {
    variable.value().copy_(values[0].first);
    return;
  }
  at::Tensor mean = at::zeros_like(variable.value());
  for (const auto& [value, weight] : values) mean.add_(value.to(mean.device()), weight / total);
  variable.value().copy_(mean);
}

}  // namespace

ReplicaSet::ReplicaSet(VariableStore& store) : store_(store) {}
ReplicaSet::~ReplicaSet() = default;

void ReplicaSet::use(const std::vector<LogicalDevice>& devices) {
  for (size_t i = 0; i < devices.size(); ++i) {
    if (i == replicas_.size()) {
      replicas_.push_back(std::make_unique<Replica>(store_, static_cast<int>(i), devices[i]));
    }
    if (replicas_[i]->device() != devices[i].device) {
      fail(ErrorKind::kFailedPrecondition, "replica ", i, " runs on ", replicas_[i]->device_name(),
           " in this session; ", devices[i].name, " was asked for");
    }
  }
}

Replica& ReplicaSet::replica(int i) {
  if (replicas_.empty()) use({parse_device("cpu:0")});
  return *replicas_.at(static_cast<size_t>(i));
}

ReplicaGroup& ReplicaSet::group() {
  if (!group_ || group_->size() < size()) group_ = std::make_unique<ReplicaGroup>(size());
  return *group_;
}

void ReplicaSet::begin_step() {
  for (const auto& replica : replicas_) replica->begin_step();
}

void ReplicaSet::prepare(const std::vector<const StepContext*>& steps) const {
  for (size_t i = 1; i < steps.size(); ++i) {
    for (const Replica::Buffer& buffer : steps[0]->replica().buffers()) {
      if (is_averaged(buffer)) continue;
      const Replica::Buffer* other = find_buffer(steps[i]->replica(), buffer.variable);
      if (!other || at::equal(buffer.tensor.cpu(), other->tensor.cpu())) continue;
      fail(ErrorKind::kFailedPrecondition, "buffer '", buffer.variable->name(), "' (", buffer.tensor.scalar_type(),
           ") has one value in tower 0 and another in tower ", steps[i]->tower_index(),
           "; only floating-point buffers can be averaged");
    }
  }
}

void ReplicaSet::commit(const std::vector<const StepContext*>& steps) {
  const at::NoGradGuard no_grad;
  commit_buffers(steps);
  for (const StepContext* step : steps) {
    for (const StepContext::Assignment& assignment : step->assignments()) {
      Variable& variable = *store_.find(assignment.variable);
      const at::Tensor value = assignment.value.to(variable.value().options());
      variable.assign(assignment.add ? variable.value() + value : value);
    }
  }
}

void ReplicaSet::commit_buffers(const std::vector<const StepContext*>& steps) {
  for (const StepContext* step : steps) {
    for (const Replica::Buffer& buffer : step->replica().buffers()) {
      if (&step->replica() != &steps[0]->replica() && find_buffer(steps[0]->replica(), buffer.variable)) continue;
      average_into(*buffer.variable, steps);
      buffer.variable->bump_version();
    }
  }
  if (size() > 1) roll_back();
}

void ReplicaSet::roll_back() {
  for (const auto& replica : replicas_) replica->reset_buffers();
}

void ReplicaSet::bump_leaves() {
  for (const auto& replica : replicas_) replica->bump_leaves();
}

}  // namespace belfry
