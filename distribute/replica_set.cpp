#include "distribute/replica_set.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <set>

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

bool all_equal(const std::vector<std::pair<at::Tensor, double>>& values) {
  return std::all_of(values.begin() + 1, values.end(), [&](const auto& other) {
    return at::equal(values[0].first, other.first.to(values[0].first.device()));
  });
}

// The weighted mean over the steps whose replica has the buffer. Where all have one value it stays, to the bit: a
// constant (positions, a mask of infinities) must not drift.
void average_into(Variable& variable, const std::vector<const StepContext*>& steps) {
  std::vector<std::pair<at::Tensor, double>> values;
  double total = 0;
  for (const StepContext* step : steps) {
    const Replica::Buffer* buffer = find_buffer(step->replica(), &variable);
    if (!buffer) continue;
    values.emplace_back(buffer->tensor, step->loss_policy().row_weight);
    total += values.back().second;
  }
  if (total == 0 || all_equal(values)) {
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
  if (devices.size() == 1) store_.set_device(devices[0].device);
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
  std::map<const Variable*, std::pair<at::Tensor, int>> first;
  for (const StepContext* step : steps) {
    for (const Replica::Buffer& buffer : step->replica().buffers()) {
      if (is_averaged(buffer)) continue;
      const auto [known, is_new] = first.try_emplace(buffer.variable, buffer.tensor, step->tower_index());
      if (is_new || at::equal(known->second.first.cpu(), buffer.tensor.cpu())) continue;
      fail(ErrorKind::kFailedPrecondition, "buffer '", buffer.variable->name(), "' (", buffer.tensor.scalar_type(),
           ") has one value in tower ", known->second.second, " and another in tower ", step->tower_index(),
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
  std::set<const Variable*> done;
  for (const StepContext* step : steps) {
    for (const Replica::Buffer& buffer : step->replica().buffers()) {
      if (!done.insert(buffer.variable).second) continue;
      average_into(*buffer.variable, steps);
      buffer.variable->bump_version();
    }
  }
  if (size() == 1) return replicas_[0]->buffers_committed();
  roll_back();
}

void ReplicaSet::roll_back() {
  for (const auto& replica : replicas_) replica->reset_buffers();
}

bool ReplicaSet::leaves_written() const {
  return std::any_of(replicas_.begin(), replicas_.end(), [](const auto& replica) { return replica->leaves_written(); });
}

void ReplicaSet::bump_leaves() {
  for (const auto& replica : replicas_) replica->bump_leaves();
}

}  // namespace belfry
