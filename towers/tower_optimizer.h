// The optimizer of a model_fn that several towers run.
#pragma once

#include <concepts>
#include <functional>

#include "../optimizers/optimizer.h"

namespace belfry {

// Wraps an optimizer: what towers ask of it is gathered, and applied once for all of them after the last. With one
// tower, and outside replicate_model_fn, it is the inner optimizer. Name, slots and learning rate are the inner one's.
class TowerOptimizer : public Optimizer {
 public:
  explicit TowerOptimizer(const Optimizer& optimizer);
  // `make` is called once, at the first need, for all copies.
  explicit TowerOptimizer(std::function<Optimizer()> make);
};

}  // namespace belfry
