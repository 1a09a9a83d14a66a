// What assignments in replicas overwrite while a step is not committed.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

namespace belfry {

class Variable;

namespace internal {

// Of one store. A DistributedVariable is written at once, when replicas assign to it; a step that then fails, or that
// is thrown away, must not have counted. Used by all replicas.
class AssignmentLog {
 public:
  using Undo = std::function<void()>;

  // From now on until commit() or roll_back(), what is overwritten is kept.
  void begin();
  // To be called before the variable, or a copy of it, is written: make_undo() has to keep all of it.
  void note(const Variable& variable, const std::function<Undo()>& make_undo);
  void commit();
  void roll_back();

  // Its value when the step began.
  at::Tensor value_before(const Variable& variable) const;
  // Of all assignments ever.
  int64_t count() const { return count_; }

 private:
  struct Kept {
    at::Tensor value;
    Undo undo;
  };

  mutable std::mutex mutex_;
  bool active_ = false;
  std::map<const Variable*, Kept> kept_;
  std::atomic<int64_t> count_{0};
};

}  // namespace internal
}  // namespace belfry
