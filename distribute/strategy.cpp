#include "distribute/strategy.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/error.h"
#include "distribute/internal/context_stack.h"
#include "distribute/internal/nccl_reduce.h"
#include "distribute/internal/reduce_values.h"
#include "distribute/internal/strategy_state.h"
#include "distribute/internal/variable_state.h"

namespace belfry {
namespace {

const at::Device kCpu(at::kCPU);
constexpr const char* kReduceAdvice = "use all_reduce there";
constexpr const char* kGatherAdvice = "use all_gather there";

void check_devices(const std::string& name, const std::vector<LogicalDevice>& devices) {
  require(!devices.empty(), name, ": there is no device");
  for (size_t i = 0; i < devices.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      require(devices[i].name != devices[k].name, name, ": device ", devices[i].name, " is given twice");
    }
  }
}

// Where NCCL is a wish that this machine cannot meet.
void check_nccl(const std::string& name, const std::vector<LogicalDevice>& devices,
                const CommunicationOptions& options) {
  if (options.implementation != CommunicationImplementation::kNccl) return;
  for (const LogicalDevice& device : devices) {
    require(device.device.is_cuda(), name, ": NCCL was asked for, and ", device.name, " is no GPU");
  }
  if (internal::has_nccl()) return;
  fail(ErrorKind::kUnimplemented, name, ": NCCL was asked for, and this Belfry was built without it");
}

// How the replicas meet.
std::string announcement(const Strategy& strategy) {
  const std::vector<LogicalDevice>& devices = strategy.worker_devices();
  if (devices.size() == 1) return "";
  std::string names;
  for (const LogicalDevice& device : devices) names += (names.empty() ? "" : ", ") + device.name;
  const bool on_gpus =
      std::all_of(devices.begin(), devices.end(), [](const LogicalDevice& device) { return device.device.is_cuda(); });
  const bool nccl = on_gpus && internal::has_nccl() &&
                    strategy.communication_options().implementation != CommunicationImplementation::kSharedMemory;
  return concat(strategy.name(), " over ", names, ": replicas meet in shared memory",
                nccl ? ", and dense floats are added up by NCCL" : "");
}

}  // namespace

Strategy::Strategy(std::string name, std::vector<LogicalDevice> devices, LogicalDevice parameter_device,
                   const StrategyOptions& options)
    : name_(std::move(name)),
      devices_(std::move(devices)),
      parameter_device_(std::move(parameter_device)),
      options_(options) {
  check_devices(name_, devices_);
  check(options.communication_options, name_.c_str());
  check_nccl(name_, devices_, options.communication_options);
}

Strategy::~Strategy() = default;

void Strategy::make_state() {
  state_ = std::make_unique<internal::StrategyState>(announcement(*this), options_.seed, devices_, parameter_device_);
}

internal::StrategyState& Strategy::state() const {
  if (state_) return *state_;
  fail(ErrorKind::kFailedPrecondition, name_, " has no variables: make a strategy, and them in its scope");
}

VariableStore& Strategy::store() { return state().store(); }
ReplicaSet& Strategy::replicas() { return state().replicas(); }

std::unique_ptr<Strategy> Strategy::like_this([[maybe_unused]] uint64_t seed) const {
  fail(ErrorKind::kUnimplemented, name_, " cannot be made anew");
}

void Strategy::begin_merge() { written_in_merge_.clear(); }
void Strategy::note_written_in_merge(const Variable& variable) { written_in_merge_.push_back(&variable); }

bool Strategy::is_running() const { return state_ && state_->is_running(); }

std::shared_ptr<internal::VariableState> Strategy::variable_state(const std::string& name,
                                                                  const std::function<at::Tensor()>& initial,
                                                                  const VariableOptions& options) {
  if (state_) return state_->variable(*this, name, initial, options);
  check_variable_name(name);
  const bool trainable = options.trainable.value_or(options.synchronization != VariableSynchronization::kOnRead);
  auto own = std::make_unique<Variable>(name, initial().detach().clone(),
                                        trainable ? VariableKind::kParameter : VariableKind::kState);
  return std::make_shared<internal::VariableState>(*this, std::move(own), options);
}

CommunicationOptions Strategy::options_of(const CommunicationOptions& call) const {
  CommunicationOptions options = options_.communication_options;
  if (call.timeout_seconds) options.timeout_seconds = call.timeout_seconds;
  if (call.bytes_per_pack != 0) options.bytes_per_pack = call.bytes_per_pack;
  if (call.implementation != CommunicationImplementation::kAuto) options.implementation = call.implementation;
  return options;
}

void Strategy::run_replicas(const std::function<void(size_t)>& work) {
  internal::check_may_enter(*this, "run", "a run has one function on each replica, which may call others");
  if (state_) return state_->run(*this, work);
  ReplicaContext context(*this, 0, nullptr);
  const internal::ContextScope scope({nullptr, &context, true});
  work(0);
}

void Strategy::run_steps(const std::vector<StepContext*>& steps, const std::function<void(size_t)>& work) {
  internal::check_may_enter(*this, "run_steps", "a step has one function on each replica");
  state().run_steps(*this, steps, work);
}

size_t Strategy::replicas_at_hand() const {
  return is_running() ? static_cast<size_t>(state_->active_replicas()) : replica_count();
}

void Strategy::check_makes_values() const {
  internal::check_may_enter(*this, "experimental_distribute_values_from_function", "compute the value there");
}

void Strategy::check_parts(const char* call, const Parts& parts) const {
  const size_t replicas = replicas_at_hand();
  require(parts.size() == replicas, call, ": a PerReplica of ", parts.size(), " components was given to ", replicas,
          replicas == 1 ? " replica" : " replicas");
  for (size_t i = 1; i < parts.size(); ++i) {
    require(parts[i].structure == parts[0].structure, call, ": replica 0 has ", parts[0].structure, " and replica ", i,
            " has ", parts[i].structure);
  }
}

namespace {

// What the replicas have at one place of the structure.
template <class Parts>
std::vector<at::Tensor> at_place(const Parts& parts, size_t place) {
  std::vector<at::Tensor> components;
  for (const auto& part : parts) components.push_back(part.tensors[place]);
  return components;
}

}  // namespace

std::vector<at::Tensor> Strategy::reduce_parts(ReduceOp op, const Parts& parts, const ReduceAxis& axis) {
  internal::check_may_enter(*this, "reduce", kReduceAdvice);
  check_parts("reduce", parts);
  std::vector<at::Tensor> reduced;
  for (size_t i = 0; i < parts[0].tensors.size(); ++i) {
    reduced.push_back(internal::reduce_values("reduce", op, at_place(parts, i), axis.axes(), kCpu));
  }
  return reduced;
}

at::Tensor Strategy::reduce(ReduceOpArgument op, const at::Tensor& value, const ReduceAxis& axis) {
  internal::check_may_enter(*this, "reduce", kReduceAdvice);
  const size_t replicas = replicas_at_hand();
  if (!axis.axes()) {
    require(op == ReduceOp::kMean || replicas == 1, "reduce: SUM of one tensor over ", replicas,
            " replicas without an axis: give a PerReplica, or an axis along which each replica's is summed");
    return value;
  }
  return internal::reduce_values("reduce", op, std::vector<at::Tensor>(replicas, value), axis.axes(), kCpu);
}

std::vector<at::Tensor> Strategy::gather_parts(const Parts& parts, int64_t axis) {
  internal::check_may_enter(*this, "gather", kGatherAdvice);
  check_parts("gather", parts);
  std::vector<at::Tensor> gathered;
  for (size_t i = 0; i < parts[0].tensors.size(); ++i) {
    gathered.push_back(internal::gather_values("gather", at_place(parts, i), axis, kCpu));
  }
  return gathered;
}

}  // namespace belfry
