// What stands behind a DistributedVariable.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "distribute/variable.h"
#include "distribute/variable_options.h"

namespace belfry {

class StepContext;
class Strategy;
class VariableStore;

namespace internal {

// value = change(value), in place.
using Change = std::function<void(at::Tensor& value)>;

class VariableState : public std::enable_shared_from_this<VariableState> {
 public:
  // `master` is the store's. With `copies` > 1 every replica has its own tensor (kOnRead).
  VariableState(Strategy& strategy, Variable& master, const VariableOptions& options, int copies);
  // In no store.
  VariableState(Strategy& strategy, std::unique_ptr<Variable> own, const VariableOptions& options);
  // Of a model_fn that no strategy runs: on one device, or in towers, which share one copy.
  VariableState(Strategy& none, Variable& master, const VariableOptions& options, const VariableStore& store);

  const std::string& name() const { return master_->name(); }
  const VariableOptions& options() const { return options_; }
  bool trainable() const { return master_->kind() == VariableKind::kParameter; }
  Strategy& strategy() const { return strategy_; }
  const Variable& master() const { return *master_; }

  at::Tensor value();
  // `operation` is '=', '+' or '-'.
  void change(char operation, const at::Tensor& value);
  void change_by_number(char operation, int64_t number);
  void change_by_number(char operation, double number);
  void scatter_add(const at::Tensor& indices, const at::Tensor& rows);
  // change(copy, replica) of each copy, outside of replicas.
  void update_copies(const std::function<void(at::Tensor& copy, size_t replica)>& change);
  // The copies, fresh.
  std::vector<at::Tensor> components();

  // Between runs: brings the copies and what checkpoints hold together.
  void begin_run() { take_restored(); }
  void end_run();

 private:
  bool has_copies() const { return !copies_.empty(); }
  bool is_leaf() const;
  // The step of the replica or tower that this thread is; null outside of them.
  StepContext* current_step() const;
  void check_number_for_all(char operation, double number) const;
  // In all replicas: what they gave, combined by the aggregation as combine(value, given...) on replica 0.
  void change_together(StepContext& step, const char* call, std::vector<at::Tensor> given,
                       const std::function<void(at::Tensor&, const std::vector<std::vector<at::Tensor>>&)>& combine);
  void change_everywhere(char operation, const at::Tensor& value);
  at::Tensor checked(const at::Tensor& value, const char* call) const;
  // One value of the replicas', as the aggregation wants it.
  at::Tensor aggregated(const char* call, const std::vector<at::Tensor>& values) const;
  void take_restored();
  void check_idle(const char* call) const;
  // Before any copy is written, so that the step can be undone.
  void note_assignment();
  // Makes the master of the copies.
  void combine_copies();
  // The one copy has been written from outside of the replicas.
  void note_written();
  // What copy `i` holds of a total.
  at::Tensor share_of(const at::Tensor& total, size_t i) const;

  Strategy& strategy_;
  const VariableStore* store_ = nullptr;
  std::unique_ptr<Variable> own_;
  Variable* master_;
  VariableOptions options_;
  std::vector<at::Tensor> copies_;
  std::atomic<bool> copies_written_{false};  // since the master was made of them
  uint64_t master_version_ = 0;              // of the master, when the copies last made it, or were made of it
};

}  // namespace internal
}  // namespace belfry
