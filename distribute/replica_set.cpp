#include "distribute/replica_set.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <unordered_map>

#include "core/error.h"
#include "distribute/internal/device_streams.h"

namespace belfry {
namespace {

bool is_averaged(const Replica::Buffer& buffer) {
  return at::isFloatingType(buffer.tensor.scalar_type()) || at::isComplexType(buffer.tensor.scalar_type());
}

bool all_equal(const std::vector<std::pair<at::Tensor, double>>& values) {
  return std::all_of(values.begin() + 1, values.end(), [&](const auto& other) {
    return at::equal(values[0].first, other.first.to(values[0].first.device()));
  });
}

// What the steps whose replica has a buffer made of it, each with its weight.
struct BufferValues {
  Variable* variable = nullptr;
  std::vector<std::pair<at::Tensor, double>> values;
  bool written = false;
};

// The weighted mean. Where all have one value it stays, to the bit: a constant (positions, a mask of infinities) must
// not drift.
void average_into(Variable& variable, const std::vector<std::pair<at::Tensor, double>>& values) {
  double total = 0;
  for (const auto& [value, weight] : values) total += weight;
  if (total == 0 || all_equal(values)) {
    variable.value().copy_(values[0].first);
    return;
  }
  at::Tensor mean = at::zeros_like(variable.value());
  for (const auto& [value, weight] : values) mean.add_(value.to(mean.device()), weight / total);
  variable.value().copy_(mean);
}

}  // namespace

ReplicaSet::ReplicaSet(VariableStore& store, std::string noun) : store_(store), noun_(std::move(noun)) {}
ReplicaSet::~ReplicaSet() = default;

void ReplicaSet::use(const std::vector<LogicalDevice>& devices, VariablePlacement placement) {
  const bool alone = devices.size() == 1 && placement == VariablePlacement::kCentral;
  if (alone || placement == VariablePlacement::kRoundRobin) store_.place_on(devices);
  for (size_t i = 0; i < devices.size(); ++i) {
    if (i == replicas_.size()) {
      replicas_.push_back(std::make_unique<Replica>(store_, static_cast<int>(i), devices[i]));
    }
    // Replica 0 is there before anybody has named a device.
    if (replicas_[i]->is_unused()) replicas_[i]->set_device(devices[i]);
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
  if (!group_ || group_->size() < size()) group_ = std::make_unique<ReplicaGroup>(size(), noun_);
  return *group_;
}

void ReplicaSet::run(int active, const std::function<void(int)>& work) {
  if (active == 1) return group().run(1, work);
  while (streams_.size() < replicas_.size()) {
    streams_.push_back(internal::new_stream(replicas_[streams_.size()]->device()));
  }
  group().run(active, [&](int i) { internal::run_on_stream(streams_[static_cast<size_t>(i)], [&] { work(i); }); });
}

void ReplicaSet::begin_step() {
  for (const auto& replica : replicas_) {
    replica->begin_step();
    note_versions(*replica);
  }
}

// Positions of buffers last: a replica only adds some at the end, or takes back those that it added in the step.
bool ReplicaSet::is_written(const Replica& replica, size_t buffer) const {
  const at::Tensor& tensor = replica.buffers()[buffer].tensor;
  if (tensor.dim() == 1 && tensor.is_floating_point()) return true;
  const auto index = static_cast<size_t>(replica.index());
  if (index >= versions_.size() || buffer >= versions_[index].size()) return true;
  return tensor._version() != versions_[index][buffer];
}

void ReplicaSet::note_versions(const Replica& replica) {
  versions_.resize(replicas_.size());
  std::vector<uint32_t>& versions = versions_[static_cast<size_t>(replica.index())];
  versions.clear();
  for (const Replica::Buffer& buffer : replica.buffers()) {
    versions.push_back(static_cast<uint32_t>(buffer.tensor._version()));
  }
}

void ReplicaSet::prepare(const std::vector<const StepContext*>& steps) const {
  struct Known {
    at::Tensor value;
    int tower;
    bool written;
  };
  std::unordered_map<const Variable*, Known> first;
  for (const StepContext* step : steps) {
    const std::vector<Replica::Buffer>& buffers = step->replica().buffers();
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (is_averaged(buffers[i])) continue;
      const Known mine{buffers[i].tensor, step->tower_index(), is_written(step->replica(), i)};
      const auto [known, is_new] = first.try_emplace(buffers[i].variable, mine);
      if (is_new || (!mine.written && !known->second.written)) continue;
      if (at::equal(known->second.value.cpu(), mine.value.cpu())) continue;
      fail(ErrorKind::kFailedPrecondition, "buffer '", buffers[i].variable->name(), "' (", mine.value.scalar_type(),
           ") has one value in ", noun_, " ", known->second.tower, " and another in ", noun_, " ", mine.tower,
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
  std::vector<BufferValues> all;
  std::unordered_map<const Variable*, size_t> places;
  for (const StepContext* step : steps) {
    const std::vector<Replica::Buffer>& buffers = step->replica().buffers();
    for (size_t i = 0; i < buffers.size(); ++i) {
      const auto [place, is_new] = places.try_emplace(buffers[i].variable, all.size());
      if (is_new) all.push_back({buffers[i].variable, {}, false});
      BufferValues& known = all[place->second];
      known.values.emplace_back(buffers[i].tensor, step->loss_policy().row_weight);
      known.written = known.written || is_written(step->replica(), i);
    }
  }
  for (const BufferValues& buffer : all) {
    if (!buffer.written) continue;
    average_into(*buffer.variable, buffer.values);
    buffer.variable->bump_version();
  }
  if (size() > 1) return roll_back();
  replicas_[0]->buffers_committed();
  note_versions(*replicas_[0]);
}

void ReplicaSet::roll_back() {
  const at::NoGradGuard no_grad;
  for (const auto& replica : replicas_) {
    const std::vector<Replica::Buffer>& buffers = replica->buffers();
    for (size_t i = 0; i < buffers.size(); ++i) {
      const bool is_fresh = buffers[i].variable_version == buffers[i].variable->version();
      if (!is_fresh || is_written(*replica, i)) buffers[i].tensor.copy_(buffers[i].variable->value());
    }
    replica->buffers_committed();
    note_versions(*replica);
  }
}

bool ReplicaSet::leaves_written() const {
  return std::any_of(replicas_.begin(), replicas_.end(), [](const auto& replica) { return replica->leaves_written(); });
}

void ReplicaSet::bump_leaves() {
  for (const auto& replica : replicas_) replica->bump_leaves();
}

}  // namespace belfry
