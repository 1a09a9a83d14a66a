#include "towers/tower_optimizer.h"

#include "core/error.h"

namespace belfry {

TowerOptimizer::TowerOptimizer(const Optimizer& optimizer)
    : Optimizer([parts = parts_of(optimizer)] { return parts; }, /*tower=*/true) {}

TowerOptimizer::TowerOptimizer(std::function<Optimizer()> make)
    : Optimizer(
          [make = std::move(make)] {
            require(static_cast<bool>(make), "TowerOptimizer: the function that makes the optimizer is absent");
            return parts_of(make());
          },
          /*tower=*/true) {}

}  // namespace belfry
