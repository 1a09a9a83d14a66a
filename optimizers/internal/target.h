// What one update makes of one variable.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "distribute/variable.h"
#include "optimizers/train_op.h"
#include "optimizers/update_rule.h"

namespace belfry::internal {

// A variable and the gradients that are to be added up for it: dense ones in the variable's layout, one or more, or a
// single row-sparse one.
struct Target {
  Variable* variable = nullptr;
  std::vector<at::Tensor> gradients;
  // Nobody else sees gradients[0]: the others may be added to it in place.
  bool in_place = false;

  bool is_sparse() const { return gradients[0].is_sparse(); }
};

// What each variable gets, sorted by name: the towers' gradients in tower order, absent ones left out. They are taken
// out of the update, so that memory that only it held can be added to in place.
std::vector<Target> targets_of(PendingUpdate& update);

// Brings the gradients into the variable's layout. Row-sparse ones are joined; with a dense one among them, or for a
// rule that wants all rows, made dense.
void settle_layout(Target& target, const UpdateRule& rule);

}  // namespace belfry::internal
