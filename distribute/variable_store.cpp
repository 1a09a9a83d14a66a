#include "distribute/variable_store.h"

#include <ATen/ATen.h>

#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "core/error.h"
#include "distribute/internal/assignment_log.h"
#include "distribute/internal/device_streams.h"

namespace belfry {
namespace {

constexpr const char* kGlobalStep = "global_step";

// A copy that nobody else holds, dense, on the device: contiguous unless the layout is dense in another order.
at::Tensor own_copy(const at::Tensor& value, at::Device device) {
  const c10::InferenceMode never_inference(false);  // its tensors could not be trained later
  const at::NoGradGuard no_grad;
  const auto format = value.is_non_overlapping_and_dense() ? at::MemoryFormat::Preserve : at::MemoryFormat::Contiguous;
  return value.detach().to(value.options().device(device), /*non_blocking=*/false, /*copy=*/true, format);
}

}  // namespace

struct VariableStore::State {
  mutable std::mutex mutex;
  std::map<std::string, std::unique_ptr<Variable>> variables;
  Variable* global_step = nullptr;
  std::map<std::string, at::Tensor> waiting;  // restored, not asked for yet
  std::set<std::string> restored;
  std::vector<std::string> missing;
  std::string source;  // of the restore; empty before one
  std::vector<LogicalDevice> devices;
  internal::AssignmentLog assignments;
  std::vector<const Variable*> placed;  // parameters and buffers, in the order in which they were made

  LogicalDevice device_for(VariableKind kind, const at::Tensor& initial) const {
    // Counters stay where the host reads them.
    if (kind == VariableKind::kState) return {"cpu:0", at::Device(at::kCPU)};
    if (kind == VariableKind::kSlot) return {initial.is_cpu() ? "cpu:0" : initial.device().str(), initial.device()};
    return devices[placed.size() % devices.size()];
  }
};

VariableStore::VariableStore(uint64_t seed, at::Device device) : seed_(seed), state_(std::make_unique<State>()) {
  state_->devices = {{device.is_cpu() ? "cpu:0" : device.str(), device}};
  state_->global_step = &get_or_create(kGlobalStep, VariableKind::kState, at::zeros({}, at::kLong));
}

VariableStore::~VariableStore() = default;

namespace {

void check_same(const Variable& variable, VariableKind kind, const at::Tensor& wanted) {
  const at::Tensor& have = variable.value();
  if (variable.kind() == kind && have.sizes() == wanted.sizes() && have.scalar_type() == wanted.scalar_type()) return;
  fail(ErrorKind::kAlreadyExists, "variable '", variable.name(), "' is there with shape ", have.sizes(), " and dtype ",
       have.scalar_type(), "; now shape ", wanted.sizes(), " and dtype ", wanted.scalar_type(),
       variable.kind() == kind ? "" : " and another kind", " is asked for");
}

void check_fits(const std::string& name, const at::Tensor& restored, const at::Tensor& wanted,
                const std::string& source) {
  require(restored.sizes() == wanted.sizes() && restored.scalar_type() == wanted.scalar_type(), "variable '", name,
          "': the model wants shape ", wanted.sizes(), " and dtype ", wanted.scalar_type(), ", ", source,
          " holds shape ", restored.sizes(), " and dtype ", restored.scalar_type());
}

}  // namespace

Variable& VariableStore::get_or_create(const std::string& name, VariableKind kind,
                                       const std::function<at::Tensor()>& initial) {
  if (Variable* variable = find(name)) {
    if (variable->kind() != kind) check_same(*variable, kind, variable->value());
    return *variable;
  }
  return get_or_create(name, kind, initial());
}

Variable& VariableStore::get_or_create(const std::string& name, VariableKind kind, const at::Tensor& initial) {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->variables.find(name);
  if (found != state_->variables.end()) {
    check_same(*found->second, kind, initial);
    return *found->second;
  }
  check_variable_name(name);
  const LogicalDevice place = state_->device_for(kind, initial);
  at::Tensor value = own_copy(initial, place.device);
  const auto waiting = state_->waiting.find(name);
  if (waiting != state_->waiting.end()) {
    check_fits(name, waiting->second, initial, state_->source);
    const at::NoGradGuard no_grad;
    value.copy_(waiting->second);
    state_->waiting.erase(waiting);
  } else if (!state_->source.empty()) {
    state_->missing.push_back(name);
  }
  internal::wait_for(place.device);  // every replica may read it from now on, each on its own stream
  auto& slot = state_->variables[name];
  slot = std::make_unique<Variable>(name, std::move(value), kind);
  slot->set_device_name(place.name);
  if (kind == VariableKind::kParameter || kind == VariableKind::kBuffer) state_->placed.push_back(slot.get());
  return *slot;
}

at::Device VariableStore::device() const {
  const std::lock_guard lock(state_->mutex);
  return state_->devices[0].device;
}

void VariableStore::place_on(const std::vector<LogicalDevice>& devices) {
  require(!devices.empty(), "VariableStore: no device was given");
  const std::lock_guard lock(state_->mutex);
  if (state_->devices == devices) return;
  for (size_t k = 0; k < state_->placed.size(); ++k) {
    const Variable& variable = *state_->placed[k];
    const LogicalDevice& wanted = devices[k % devices.size()];
    if (variable.kind() != VariableKind::kParameter || variable.value().device() == wanted.device) continue;
    fail(ErrorKind::kFailedPrecondition, "variable '", variable.name(), "' is on ", variable.value().device().str(),
         " already; ", wanted.name, " was asked for");
  }
  state_->devices = devices;
}

Variable* VariableStore::find(const std::string& name) const {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->variables.find(name);
  return found == state_->variables.end() ? nullptr : found->second.get();
}

std::vector<Variable*> VariableStore::variables() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<Variable*> all;
  for (const auto& [name, variable] : state_->variables) all.push_back(variable.get());
  return all;
}

std::vector<Variable*> VariableStore::variables(VariableKind kind) const {
  std::vector<Variable*> some = variables();
  std::erase_if(some, [kind](const Variable* variable) { return variable->kind() != kind; });
  return some;
}

// Read and written several times a step: by its memory, which is the host's and never moves.
int64_t VariableStore::global_step() const { return *state_->global_step->value().const_data_ptr<int64_t>(); }

void VariableStore::set_global_step(int64_t step) {
  *state_->global_step->value().mutable_data_ptr<int64_t>() = step;
  state_->global_step->bump_version();
}

void VariableStore::restore(const TensorDict& values, const std::string& source) {
  const std::lock_guard lock(state_->mutex);
  std::map<std::string, at::Tensor> waiting;
  for (const auto& [name, value] : values) {
    if (value.is_tensor()) waiting.emplace(name, value.tensor());
  }
  for (const auto& [name, variable] : state_->variables) {
    const auto found = waiting.find(name);
    if (found != waiting.end()) check_fits(name, found->second, variable->value(), source);
  }
  state_->restored.clear();
  for (const auto& [name, value] : waiting) state_->restored.insert(name);
  state_->missing.clear();
  for (const auto& [name, variable] : state_->variables) {
    const auto found = waiting.find(name);
    if (found == waiting.end()) {
      state_->missing.push_back(name);
      continue;
    }
    variable->assign(found->second);
    waiting.erase(found);
  }
  state_->waiting = std::move(waiting);
  state_->source = source;
}

RestoreDifference VariableStore::restore_difference() const {
  const std::lock_guard lock(state_->mutex);
  RestoreDifference difference{state_->missing, {}};
  for (const auto& [name, value] : state_->waiting) difference.unused.push_back(name);
  return difference;
}

std::vector<std::string> VariableStore::missing_after(size_t known) const {
  const std::lock_guard lock(state_->mutex);
  const std::vector<std::string>& missing = state_->missing;
  return {missing.begin() + static_cast<std::ptrdiff_t>(std::min(known, missing.size())), missing.end()};
}

bool VariableStore::was_restored(const std::string& name) const {
  const std::lock_guard lock(state_->mutex);
  return state_->restored.contains(name);
}

bool VariableStore::was_any_restored(const std::string& prefix) const {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->restored.lower_bound(prefix);
  return found != state_->restored.end() && found->starts_with(prefix);
}

std::vector<std::string> VariableStore::waiting_names(const std::string& prefix) const {
  const std::lock_guard lock(state_->mutex);
  std::vector<std::string> names;
  for (auto at = state_->waiting.lower_bound(prefix); at != state_->waiting.end() && at->first.starts_with(prefix);
       ++at)
    names.push_back(at->first);
  return names;
}

Variable* VariableStore::find_or_take(const std::string& name, VariableKind kind) {
  if (Variable* known = find(name)) return known;
  at::Tensor value;
  {
    const std::lock_guard lock(state_->mutex);
    const auto waiting = state_->waiting.find(name);
    if (waiting == state_->waiting.end()) return nullptr;
    value = waiting->second;
  }
  return &get_or_create(name, kind, value);
}

internal::AssignmentLog& VariableStore::assignments() const { return state_->assignments; }

TensorDict VariableStore::snapshot() const {
  std::map<std::string, at::Tensor> values;
  for (const Variable* variable : variables()) {
    values[variable->name()] = own_copy(state_->assignments.value_before(*variable), at::kCPU);
  }
  const std::lock_guard lock(state_->mutex);
  values.insert(state_->waiting.begin(), state_->waiting.end());
  TensorDict snapshot;
  for (const auto& [name, value] : values) snapshot.set(name, value);
  return snapshot;
}

}  // namespace belfry
