// All state of a model, by name.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../core/tensor_dict.h"
#include "device.h"
#include "variable.h"

namespace belfry {

namespace internal {
class AssignmentLog;
}

// What differed between a restored checkpoint and the variables that the model then asked for.
struct RestoreDifference {
  std::vector<std::string> missing;  // asked for, not in the checkpoint
  std::vector<std::string> unused;   // in the checkpoint, not asked for (yet)
};

// Parameters, buffers, optimizer slots, global step and data position: a checkpoint is this on disk. Creation and
// look-up may come from several threads; restore, snapshot and assignments only while no step runs. Variables live, at
// one address, as long as the store.
class VariableStore {
 public:
  // Initial values depend on `seed` and the variable's name alone. `device` holds the master copies.
  explicit VariableStore(uint64_t seed, at::Device device = at::Device(at::kCPU));
  ~VariableStore();
  VariableStore(const VariableStore&) = delete;
  VariableStore& operator=(const VariableStore&) = delete;

  uint64_t seed() const { return seed_; }
  // The first of them.
  at::Device device() const;
  // Where variables are made from now on: the k-th parameter or buffer on devices[k mod N], slots beside their
  // parameter, counters on the CPU. kFailedPrecondition, naming the variable, when parameters are on other devices
  // already.
  void place_on(const std::vector<LogicalDevice>& devices);

  // The variable of that name. The first call makes it: from the restored checkpoint, or else with a copy of initial().
  // kInvalidArgument when the name is illegal or the restored value has another shape or dtype (both are named);
  // kAlreadyExists when it is there with another kind, shape or dtype than `initial` would have.
  Variable& get_or_create(const std::string& name, VariableKind kind, const std::function<at::Tensor()>& initial);
  // As above for a tensor at hand, whose shape and dtype are checked against a variable that is there already.
  Variable& get_or_create(const std::string& name, VariableKind kind, const at::Tensor& initial);

  // Null when there is none.
  Variable* find(const std::string& name) const;
  // Sorted by name. With `kind`, those of that kind.
  std::vector<Variable*> variables() const;
  std::vector<Variable*> variables(VariableKind kind) const;

  // "global_step", int64 scalar.
  int64_t global_step() const;
  void set_global_step(int64_t step);

  // Replaces all state by `values`, named after `source` in messages. Variables that are there take their value, or
  // are kInvalidArgument (variable, both shapes) with nothing changed; the rest waits until it is asked for.
  void restore(const TensorDict& values, const std::string& source);
  // Since the last restore(); nothing is missing before one.
  RestoreDifference restore_difference() const;
  // Of those missing, in the order in which they were asked for, all but the first `known`; cheap when there are none.
  std::vector<std::string> missing_after(size_t known) const;
  // Whether a value of that name came with the last restore().
  bool was_restored(const std::string& name) const;
  // Whether one whose name begins so did.
  bool was_any_restored(const std::string& prefix) const;

  // Restored values whose name begins so and that nobody has asked for yet.
  std::vector<std::string> waiting_names(const std::string& prefix) const;
  // The variable of that name, made of the restored value where that waits; null when there is neither.
  Variable* find_or_take(const std::string& name, VariableKind kind);

  // Copies of all values, sorted by name, on the CPU. Restored values that nobody has asked for yet are among them: a
  // part of the model that only some steps use must not lose its state.
  // What replicas have assigned in a step that is not committed is not.
  TensorDict snapshot() const;

  // For sessions and strategies, around a step.
  internal::AssignmentLog& assignments() const;

 private:
  struct State;
  uint64_t seed_;
  std::unique_ptr<State> state_;
};

}  // namespace belfry
