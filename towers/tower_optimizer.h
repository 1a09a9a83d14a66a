// The optimizer of a model_fn that several towers run.
#pragma once

#include <cstdint>
#include <functional>

#include "../optimizers/optimizer.h"

namespace belfry {

struct TowerOptimizerOptions {
  // So many steps gather gradients, and the last of them applies what they come to, as one step of their batches
  // together: for batches larger than memory. Each is a global step. What is gathered is saved in checkpoints; where
  // the input ends in the middle of a window, its last step applies the rest with its true weight. A train call that
  // ends for another reason leaves the rest to the next call. Where the number is made smaller, what has been gathered
  // is applied as soon as it fills the new window, with 1 by the next step. Clipping between compute_gradients and
  // apply_gradients acts on each step by itself. 1: every step by itself, or as the wrapped optimizer says.
  // kInvalidArgument below 1.
  int64_t accumulate_steps = 1;
  // What the gathered gradients come to. With kMean, losses that are means over rows come out as those of one large
  // batch; with kSum, losses that are sums. A mean over weights or non-zero weights is not the same: batches count by
  // their rows.
  AccumulationKind accumulation = AccumulationKind::kMean;
};

// Wraps an optimizer: what towers ask of it is gathered, and applied once for all of them after the last. With one
// tower, and outside replicate_model_fn, it is the inner optimizer. Name, slots and learning rate are the inner one's.
class TowerOptimizer : public Optimizer {
 public:
  explicit TowerOptimizer(const Optimizer& optimizer, const TowerOptimizerOptions& options = {});
  // `make` is called once, at the first need, for all copies.
  explicit TowerOptimizer(std::function<Optimizer()> make, const TowerOptimizerOptions& options = {});

 private:
  static Parts with(const TowerOptimizerOptions& options, Parts parts);
};

}  // namespace belfry
