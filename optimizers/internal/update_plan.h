// How one optimizer's update of a set of variables is cut into shares.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "distribute/variable_store.h"
#include "optimizers/internal/target.h"
#include "optimizers/update_rule.h"

namespace belfry {
class Optimizer;
}

namespace belfry::internal {

// The optimizer's slots of a variable, made where they are missing.
std::vector<Variable*> slots_of(const Optimizer& optimizer, const Variable& variable, VariableStore& store);

// Made when a set of targets is first seen, with its slots; used as long as the set is the same. apply_share() may be
// called by all replicas at once, each with its own number; the rest by one thread.
class UpdatePlan {
 public:
  UpdatePlan(VariableStore& store, const Optimizer& optimizer, const std::vector<Target>& targets);

  bool fits(const Optimizer& optimizer, const std::vector<Target>& targets) const;
  void apply(const UpdateRule& rule, const UpdateArguments& arguments, const std::vector<Target>& targets) const;
  // Before apply_share with so many shares.
  void cut(int shares);
  void apply_share(const UpdateRule& rule, const UpdateArguments& arguments, const std::vector<Target>& targets,
                   int share) const;

 private:
  struct Entry {
    Variable* variable;
    std::vector<Variable*> slots;
    bool sparse;
  };
  // Shares of element-wise rules are cut along multiples of this many elements: kernels then make the same vectors of
  // them as without shares, so that results agree to the bit, and no two threads write to one cache line.
  static constexpr int64_t kBlock = 64;

  // A piece of a variable: elements [offset, offset + tensor.numel()) in the order of memory.
  struct Piece {
    size_t entry;
    int64_t offset;
    at::Tensor parameter;
    std::vector<at::Tensor> slots;
    bool whole;
  };
  using Group = std::vector<Piece>;  // of one dtype and device: one call of the rule

  // Long pieces of which gradients have to be added up are taken so many elements at a time: what was just added up is
  // then still in the processor's cache when the rule reads it.
  static constexpr int64_t kCached = 1024 * kBlock;

  std::vector<Group> pieces_of_share(int share, int shares) const;
  void add_piece(std::vector<Group>& groups, size_t entry, int share, int shares) const;
  void apply_groups(const std::vector<Group>& groups, const UpdateRule& rule, const UpdateArguments& arguments,
                    const std::vector<Target>& targets) const;
  bool is_long(const Piece& piece, const Target& target) const;
  void apply_long(const Piece& piece, const UpdateRule& rule, const UpdateArguments& arguments,
                  const Target& target) const;
  void apply_rows(const UpdateRule& rule, const UpdateArguments& arguments, const Entry& entry,
                  const at::Tensor& gradient) const;

  std::string optimizer_;
  std::vector<std::string> slot_names_;
  UpdateGrain grain_;
  std::vector<Entry> entries_;
  std::vector<Group> whole_;
  std::vector<std::vector<Group>> shares_;
};

}  // namespace belfry::internal
