// A model's modules and variables as one replica sees them.
#pragma once

#include <ATen/core/Tensor.h>

#include <any>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <typeindex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "device.h"
#include "variable_store.h"

namespace torch::nn {
class Module;
}

namespace belfry {
namespace internal {
class FlatCache;
}

// Owns the replica's modules and its autograd leaves. A leaf on the store's device shares the variable's memory; one on
// another device is a copy that begin_step() refreshes when the variable has changed. Used by one thread at a time, and
// lives for many steps. Buffers are the replica's own during a step and are committed by ReplicaSet.
class Replica {
 public:
  // A trainable variable and the tensor that this replica's forward pass uses for it.
  struct Leaf {
    Variable* variable;
    at::Tensor tensor;
    uint64_t variable_version;  // of the variable, when the leaf was last known to be fresh
    int64_t tensor_version;     // of the leaf's own counter, when the step began
  };
  struct Buffer {
    Variable* variable;
    at::Tensor tensor;
    uint64_t variable_version;  // of the variable, when the two last had one value
  };
  using ModuleFactory = std::function<std::shared_ptr<torch::nn::Module>()>;

  Replica(VariableStore& store, int index, LogicalDevice device);
  ~Replica();
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  VariableStore& store() const { return store_; }
  int index() const { return index_; }
  at::Device device() const { return device_.device; }
  const std::string& device_name() const { return device_.name; }
  // While nothing was asked of it yet it may go to another device; later, what it holds lies on its own.
  bool is_unused() const { return modules_.empty() && leaves_.empty() && buffers_.empty(); }
  void set_device(LogicalDevice device) { device_ = std::move(device); }

  // The module of that name, made by `make` at the first call: under grad mode, with random numbers that depend on the
  // store's seed and `name` alone, and moved to the replica's device. Its parameters become the variables NAME/path
  // (dots of LibTorch's paths become slashes), later paths to one tensor are aliases. Then, as at every call, it is put
  // into train or eval mode. kAlreadyExists when the name is taken by a module of another type; kInvalidArgument for
  // what could not be shared faithfully (each says what to do): a view of a parameter cached in a constructor, a
  // parameter that no member holds any more (tied by member only), a shape or dtype other than the store's.
  std::shared_ptr<torch::nn::Module> module(const std::string& name, std::type_index type, const ModuleFactory& make,
                                            bool training);

  // What module `name` was made with, for callers that want to notice a change; empty at first.
  std::any& module_arguments(const std::string& name) { return module_arguments_[name]; }

  // A variable without a module: the replica's leaf for it. `initial` is called, with random numbers as for a module,
  // when nobody has made the variable yet. kAlreadyExists when it is there and not as trainable as asked for.
  at::Tensor variable(const std::string& name, const std::function<at::Tensor()>& initial, bool trainable);

  // Leaves that are trainable now: of kind kParameter and with requires_grad, which is read again each time. Sorted by
  // name. Valid until the next module() or variable().
  const std::vector<Leaf*>& trainable_leaves();
  // Null when this replica has not asked for the variable.
  Leaf* find_leaf(const Variable& variable);
  Leaf* find_leaf(const at::Tensor& tensor);
  const std::vector<Buffer>& buffers() const { return buffers_; }
  // Every parameter and buffer with the variable's name, as this replica uses them.
  std::vector<std::pair<std::string, at::Tensor>> named_tensors() const;

  // Before a step: refreshes leaves and buffers whose variables have changed, and remembers the leaves' versions.
  void begin_step();
  // After a model_fn: kFailedPrecondition, naming variable or module, when a leaf was written to directly; in a
  // module's first steps also when it got a parameter that was not there when it was adopted, or when a member that
  // held a parameter or buffer was assigned another tensor.
  void check_after_step();
  // Whether a leaf was written to since begin_step().
  bool leaves_written() const;
  // After variables were written: a graph that was recorded before fails instead of giving wrong gradients.
  void bump_leaves();
  // The framework has written to the variable in the middle of a step: its leaf, if there is one, shows the new value,
  // and a graph that was recorded with the old one fails.
  void take_written(const Variable& variable);
  // Buffers back to the variables' values.
  void reset_buffers();
  // The variables have just been given this replica's values: they need not be copied back.
  void buffers_committed();

 private:
  struct ModuleEntry;

  ModuleEntry& adopt(const std::string& name, std::type_index type, const ModuleFactory& make);
  // Refuse what could not be shared faithfully.
  void check_parameters(const std::string& name, const torch::nn::Module& module) const;
  void check_parameter(const std::string& name, const at::Tensor& parameter, const torch::nn::Module& owner) const;
  void adopt_tensors(const std::string& name, torch::nn::Module& module);
  // Forgets what the adoption of a module that then failed has added.
  void forget(const std::set<std::string>& leaves_before, size_t buffers_before);
  void adopt_parameter(const std::string& name, const at::Tensor& parameter);
  void adopt_buffer(const std::string& name, const at::Tensor& buffer);
  // Makes a new leaf show the variable's value: by its memory, or by a copy on another device.
  void show(Leaf& leaf) const;
  void refresh_copies();
  void add_leaf(Variable& variable, const at::Tensor& tensor);

  VariableStore& store_;
  const int index_;
  LogicalDevice device_;
  std::unordered_map<std::string, std::unique_ptr<ModuleEntry>> modules_;
  std::unordered_map<std::string, std::any> module_arguments_;
  std::unordered_map<std::string, std::unique_ptr<Leaf>> leaves_;  // by variable
  std::unordered_map<const void*, Leaf*> leaf_of_tensor_;          // by TensorImpl
  std::vector<Leaf*> sorted_;
  std::vector<Leaf*> trainable_;
  std::vector<Buffer> buffers_;
  std::unique_ptr<internal::FlatCache> copies_;
  std::vector<at::Tensor> copied_;  // the leaves, of variables on other devices, that it holds
};

}  // namespace belfry
