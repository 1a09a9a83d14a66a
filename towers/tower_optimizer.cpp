#include "towers/tower_optimizer.h"

#include "core/error.h"

namespace belfry {

TowerOptimizer::TowerOptimizer(const Optimizer& optimizer, const TowerOptimizerOptions& options)
    : Optimizer([parts = with(options, parts_of(optimizer))] { return parts; }, /*tower=*/true) {}

TowerOptimizer::TowerOptimizer(std::function<Optimizer()> make, const TowerOptimizerOptions& options)
    : Optimizer(
          [make = std::move(make), options] {
            require(static_cast<bool>(make), "TowerOptimizer: the function that makes the optimizer is absent");
            return with(options, parts_of(make()));
          },
          /*tower=*/true) {}

Optimizer::Parts TowerOptimizer::with(const TowerOptimizerOptions& options, Parts parts) {
  require(options.accumulate_steps >= 1, "TowerOptimizer: accumulate_steps is ", options.accumulate_steps,
          "; 1 or more is wanted");
  if (options.accumulate_steps > 1 || parts.accumulation.steps == 1) {
    parts.accumulation = {options.accumulate_steps, options.accumulation};
  }
  return parts;
}

}  // namespace belfry
