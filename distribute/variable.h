// One named tensor of a model's state.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>

namespace belfry {

enum class VariableKind {
  kParameter,  // what optimizers may move
  kBuffer,     // state that the forward pass itself moves: running means of batch norm
  kSlot,       // an optimizer's state of one parameter
  kState,      // the framework's own and the user's counters
};

// The master copy of a variable: what checkpoints hold. It has no autograd history; replicas see it through leaves of
// their own. Made and owned by a VariableStore. While a step runs, threads may read it; the framework writes it between
// steps, or each replica thread its own share.
class Variable {
 public:
  Variable(std::string name, at::Tensor value, VariableKind kind);
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

  const std::string& name() const { return name_; }
  VariableKind kind() const { return kind_; }
  // Dense in one layout for good: contiguous, or channels last where the module made it so.
  const at::Tensor& value() const { return value_; }
  // The logical device that holds it: "cpu:1" where towers take turns, else that of the store.
  const std::string& device_name() const { return device_name_; }
  void set_device_name(std::string name) { device_name_ = std::move(name); }
  // Raised by every commit that changed the value.
  uint64_t version() const { return version_; }
  void bump_version() { ++version_; }

  // Copies `value` in place. kInvalidArgument, naming the variable and both, when shape or dtype differ.
  void assign(const at::Tensor& value);
  // `like` in the variable's own memory layout, which fused kernels take for granted; itself when it has it already.
  at::Tensor in_layout(const at::Tensor& like) const;

 private:
  std::string name_;
  VariableKind kind_;
  at::Tensor value_;
  std::string device_name_ = "cpu:0";
  uint64_t version_ = 0;
};

// kInvalidArgument unless `name` is what TensorFlow takes for a name: letters, digits and . first, then also _ - / > \.
void check_variable_name(const std::string& name);

}  // namespace belfry
