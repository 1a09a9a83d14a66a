#include "distribute/replica.h"

#include <torch/csrc/autograd/variable.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/container/parameterdict.h>
#include <torch/nn/modules/container/parameterlist.h>

#include <algorithm>

#include "core/error.h"
#include "core/hash64.h"
#include "core/log.h"
#include "distribute/internal/flat_cache.h"
#include "distribute/internal/initial_value.h"

namespace belfry {
namespace {

std::string slashes(std::string path) {
  std::replace(path.begin(), path.end(), '.', '/');
  return path;
}

std::string join(const std::string& name, const std::string& path) {
  return path.empty() ? name : name + "/" + slashes(path);
}

// Modules that register something late do it in one of their first forward passes, of any mode; counting in every step
// would cost too much.
constexpr int kLateChecks = 8;

size_t tensor_count(const torch::nn::Module& module) { return module.parameters().size() + module.buffers().size(); }

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

// Who holds a tensor that a member of its module holds: that member, the module's dictionary, the replica, and a list.
constexpr size_t kHolders = 4;

// The parameters and buffers that members hold, once the replica has them: forward() could point one at another tensor.
NamedTensors held_by_members(const std::string& name, const torch::nn::Module& module) {
  NamedTensors held;
  const auto add = [&](const auto& tensors) {
    for (const auto& tensor : tensors) {
      if (tensor.value().use_count() >= kHolders) held.emplace_back(join(name, tensor.key()), tensor.value());
    }
  };
  add(module.named_parameters());
  add(module.named_buffers());
  return held;
}

// A parameter is known to the dictionary of its module and to the dictionary's copy here. The member that forward()
// uses makes a third; without it, the member was pointed at another tensor.
bool has_member(const at::Tensor& parameter, const torch::nn::Module& owner) {
  if (dynamic_cast<const torch::nn::ParameterDictImpl*>(&owner) != nullptr ||
      dynamic_cast<const torch::nn::ParameterListImpl*>(&owner) != nullptr) {
    return true;
  }
  return parameter.use_count() > 2;
}

}  // namespace

struct Replica::ModuleEntry {
  std::shared_ptr<torch::nn::Module> module;
  std::type_index type;
  size_t tensors;
  int checks_left;
  NamedTensors held;
  bool training = false;  // as it was handed out last
  bool told_of_training = false;

  void tell_of_training(const std::string& name);
};

Replica::Replica(VariableStore& store, int index, LogicalDevice device)
    : store_(store), index_(index), device_(std::move(device)) {}

Replica::~Replica() = default;

std::shared_ptr<torch::nn::Module> Replica::module(const std::string& name, std::type_index type,
                                                   const ModuleFactory& make, bool training) {
  const auto found = modules_.find(name);
  ModuleEntry& entry = found != modules_.end() ? *found->second : adopt(name, type, make);
  if (entry.type != type) {
    fail(ErrorKind::kAlreadyExists, "module '", name, "' is there with another type; one name, one type");
  }
  if (entry.module->is_training() != training) entry.module->train(training);
  entry.training = training;
  return entry.module;
}

Replica::ModuleEntry& Replica::adopt(const std::string& name, std::type_index type, const ModuleFactory& make) {
  check_variable_name(name);
  const c10::InferenceMode never_inference(false);
  std::shared_ptr<torch::nn::Module> module = internal::make_initial(store_.seed(), name, make);
  require(module != nullptr, "module '", name, "': the factory gave no module");
  // As it was made: for cuDNN, an LSTM that goes to a GPU puts all its weights into one memory.
  check_parameters(name, *module);
  if (!device().is_cpu()) module->to(device());
  std::set<std::string> leaves_before;
  for (const auto& [known, leaf] : leaves_) leaves_before.insert(known);
  const size_t buffers_before = buffers_.size();
  try {
    adopt_tensors(name, *module);
  } catch (...) {
    forget(leaves_before, buffers_before);
    throw;
  }
  auto entry = std::make_unique<ModuleEntry>(
      ModuleEntry{module, type, tensor_count(*module), kLateChecks, held_by_members(name, *module)});
  return *(modules_[name] = std::move(entry));
}

void Replica::forget(const std::set<std::string>& leaves_before, size_t buffers_before) {
  std::erase_if(sorted_, [&](const Leaf* leaf) { return !leaves_before.contains(leaf->variable->name()); });
  std::erase_if(leaf_of_tensor_, [&](const auto& at) { return !leaves_before.contains(at.second->variable->name()); });
  std::erase_if(leaves_, [&](const auto& named) { return !leaves_before.contains(named.first); });
  trainable_.clear();
  buffers_.erase(buffers_.begin() + static_cast<std::ptrdiff_t>(buffers_before), buffers_.end());
}

void Replica::check_parameter(const std::string& name, const at::Tensor& parameter,
                              const torch::nn::Module& owner) const {
  require(has_member(parameter, owner), "parameter '", name,
          "' is registered, but no member of its module holds it: the member was assigned another tensor. To tie two "
          "parameters, register the same module or tensor in both places (register_parameter, replace_module)");
  if (leaf_of_tensor_.contains(parameter.unsafeGetTensorImpl())) return;  // another module's too: an alias
  require(!parameter.is_view(), "parameter '", name,
          "' is a view of another tensor: register the tensor itself, and "
          "take the view in forward()");
  require(parameter.layout() == at::kStrided, "parameter '", name, "' is not a dense tensor");
  require(parameter.storage().use_count() == 1, "parameter '", name,
          "' shares its memory with a tensor that the module "
          "keeps (a view cached in the constructor?): take views of parameters in forward()");
}

void Replica::check_parameters(const std::string& name, const torch::nn::Module& module) const {
  for (const auto& part : module.named_modules(/*name_prefix=*/"", /*include_self=*/true)) {
    const std::string scope = join(name, part.key());
    for (const auto& parameter : part.value()->named_parameters(/*recurse=*/false)) {
      check_parameter(join(scope, parameter.key()), parameter.value(), *part.value());
    }
  }
}

void Replica::adopt_tensors(const std::string& name, torch::nn::Module& module) {
  for (const auto& part : module.named_modules(/*name_prefix=*/"", /*include_self=*/true)) {
    const std::string scope = join(name, part.key());
    for (const auto& parameter : part.value()->named_parameters(/*recurse=*/false)) {
      adopt_parameter(join(scope, parameter.key()), parameter.value());
    }
    for (const auto& buffer : part.value()->named_buffers(/*recurse=*/false)) {
      adopt_buffer(join(scope, buffer.key()), buffer.value());
    }
  }
}

void Replica::adopt_parameter(const std::string& name, const at::Tensor& parameter) {
  if (!parameter.defined() || leaf_of_tensor_.contains(parameter.unsafeGetTensorImpl())) return;
  add_leaf(store_.get_or_create(name, VariableKind::kParameter, parameter), parameter);
}

void Replica::adopt_buffer(const std::string& name, const at::Tensor& buffer) {
  if (!buffer.defined()) return;
  for (const Buffer& known : buffers_) {
    if (known.tensor.is_same(buffer)) return;
    if (known.variable->name() == name) {
      fail(ErrorKind::kAlreadyExists, "buffer '", name, "' belongs to two modules: give one another name");
    }
  }
  Variable& variable = store_.get_or_create(name, VariableKind::kBuffer, buffer);
  const at::NoGradGuard no_grad;
  buffer.copy_(variable.value());
  buffers_.push_back({&variable, buffer, variable.version()});
}

at::Tensor Replica::variable(const std::string& name, const std::function<at::Tensor()>& initial, bool trainable) {
  const auto found = leaves_.find(name);
  const auto kind = trainable ? VariableKind::kParameter : VariableKind::kState;
  if (found != leaves_.end()) {
    if (found->second->variable->kind() == kind) return found->second->tensor;
    fail(ErrorKind::kAlreadyExists, "variable '", name, "' is there and is ", trainable ? "not " : "", "trainable");
  }
  Variable& variable =
      store_.get_or_create(name, kind, [&] { return internal::make_initial(store_.seed(), name, initial); });
  const c10::InferenceMode inference(false);
  at::Tensor tensor = at::empty({0}, variable.value().options().device(device()));
  if (trainable) tensor.requires_grad_();
  add_leaf(variable, tensor);
  return tensor;
}

void Replica::add_leaf(Variable& variable, const at::Tensor& tensor) {
  auto& leaf = leaves_[variable.name()];
  if (leaf) {
    fail(ErrorKind::kAlreadyExists, "variable '", variable.name(), "' belongs to two modules: give one another name");
  }
  leaf = std::make_unique<Leaf>(Leaf{&variable, tensor, 0, 0});
  show(*leaf);
  leaf_of_tensor_[tensor.unsafeGetTensorImpl()] = leaf.get();
  const auto by_name = [](const Leaf* a, const Leaf* b) { return a->variable->name() < b->variable->name(); };
  sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), leaf.get(), by_name), leaf.get());
}

void Replica::show(Leaf& leaf) const {
  const at::Tensor& value = leaf.variable->value();
  if (value.device() == device() || (value.is_cpu() && device().is_cpu())) {
    leaf.tensor.set_data(value);
  } else {
    leaf.tensor.set_data(value.to(device(), /*non_blocking=*/false, /*copy=*/true));
  }
  leaf.variable_version = leaf.variable->version();
  leaf.tensor_version = leaf.tensor._version();
}

const std::vector<Replica::Leaf*>& Replica::trainable_leaves() {
  trainable_.clear();
  for (Leaf* leaf : sorted_) {
    if (leaf->variable->kind() == VariableKind::kParameter && leaf->tensor.requires_grad()) trainable_.push_back(leaf);
  }
  return trainable_;
}

Replica::Leaf* Replica::find_leaf(const Variable& variable) {
  const auto found = leaves_.find(variable.name());
  return found == leaves_.end() ? nullptr : found->second.get();
}

Replica::Leaf* Replica::find_leaf(const at::Tensor& tensor) {
  const auto found = leaf_of_tensor_.find(tensor.unsafeGetTensorImpl());
  return found == leaf_of_tensor_.end() ? nullptr : found->second;
}

std::vector<std::pair<std::string, at::Tensor>> Replica::named_tensors() const {
  std::vector<std::pair<std::string, at::Tensor>> named;
  for (const Leaf* leaf : sorted_) named.emplace_back(leaf->variable->name(), leaf->tensor);
  for (const Buffer& buffer : buffers_) named.emplace_back(buffer.variable->name(), buffer.tensor);
  return named;
}

// All at once, from the second step on: then they lie in one block.
void Replica::refresh_copies() {
  std::vector<Leaf*> leaves;
  std::vector<at::Tensor> tensors;
  for (Leaf* leaf : sorted_) {
    if (leaf->tensor.device() == leaf->variable->value().device()) continue;
    leaves.push_back(leaf);
    tensors.push_back(leaf->tensor);
  }
  const auto is_same = [](const at::Tensor& a, const at::Tensor& b) { return a.is_same(b); };
  if (!std::equal(tensors.begin(), tensors.end(), copied_.begin(), copied_.end(), is_same)) {
    copied_ = std::move(tensors);
    copies_ = std::make_unique<internal::FlatCache>(device());
    for (const Leaf* leaf : leaves) copies_->add(*leaf->variable, leaf->tensor);
  }
  if (leaves.empty()) return;
  copies_->refresh();
  for (Leaf* leaf : leaves) leaf->variable_version = leaf->variable->version();
}

void Replica::begin_step() {
  refresh_copies();
  for (Leaf* leaf : sorted_) leaf->tensor_version = leaf->tensor._version();
  const at::NoGradGuard no_grad;
  for (Buffer& buffer : buffers_) {
    if (buffer.variable_version == buffer.variable->version()) continue;
    buffer.tensor.copy_(buffer.variable->value());
    buffer.variable_version = buffer.variable->version();
  }
}

// Some want dropout in predictions; most have called train() by mistake, and would not see it in the numbers.
void Replica::ModuleEntry::tell_of_training(const std::string& name) {
  if (training || told_of_training) return;
  bool trains = module->is_training();
  if (checks_left > 0) {
    for (const auto& part : module->modules()) trains = trains || part->is_training();
  }
  if (!trains) return;
  told_of_training = true;
  log_warning("module '", name,
              "' is in training mode in a call for EVAL or PREDICT, since the model_fn called train(): ",
              "its dropout and batch norm do as in training");
}

void Replica::check_after_step() {
  for (const Leaf* leaf : sorted_) {
    if (leaf->tensor._version() != leaf->tensor_version) {
      fail(
          ErrorKind::kFailedPrecondition, "variable '", leaf->variable->name(),
          "' was written to inside the model_fn: use ctx.assign or ctx.assign_add, which are committed after the step");
    }
  }
  for (const auto& [name, entry] : modules_) {
    if (index_ == 0) entry->tell_of_training(name);
    if (entry->checks_left == 0) continue;
    --entry->checks_left;
    if (tensor_count(*entry->module) != entry->tensors) {
      fail(ErrorKind::kFailedPrecondition, "module '", name, "' had ", entry->tensors,
           " parameters and buffers when it was made and has ", tensor_count(*entry->module),
           " now: register all of them in the constructor");
    }
    for (const auto& [path, tensor] : entry->held) {
      if (tensor.use_count() >= kHolders) continue;
      fail(ErrorKind::kFailedPrecondition, "'", path,
           "' is not what its module uses any more: the member was assigned another tensor. Write to a buffer in place "
           "(copy_, add_), and leave parameters to the optimizer");
    }
  }
}

bool Replica::leaves_written() const {
  return std::any_of(sorted_.begin(), sorted_.end(),
                     [](const Leaf* leaf) { return leaf->tensor._version() != leaf->tensor_version; });
}

void Replica::bump_leaves() {
  for (Leaf* leaf : sorted_) {
    if (leaf->variable_version == leaf->variable->version()) continue;
    leaf->tensor.unsafeGetTensorImpl()->bump_version();
    if (leaf->tensor.device() == leaf->variable->value().device()) leaf->variable_version = leaf->variable->version();
  }
}

void Replica::take_written(const Variable& variable) {
  Leaf* leaf = find_leaf(variable);
  if (!leaf) return;
  const at::NoGradGuard no_grad;
  if (leaf->tensor.device() == variable.value().device()) {
    leaf->tensor.unsafeGetTensorImpl()->bump_version();
    leaf->variable_version = variable.version();
  } else {
    leaf->tensor.copy_(variable.value());  // bumps it; the next step copies once more
  }
  leaf->tensor_version = leaf->tensor._version();
}

void Replica::reset_buffers() {
  const at::NoGradGuard no_grad;
  for (const Buffer& buffer : buffers_) buffer.tensor.copy_(buffer.variable->value());
  buffers_committed();
}

void Replica::buffers_committed() {
  for (Buffer& buffer : buffers_) buffer.variable_version = buffer.variable->version();
}

}  // namespace belfry
