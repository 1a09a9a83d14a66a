#include "estimator/canned/canned_optimizer.h"

#include "core/error.h"
#include "optimizers/adagrad.h"
#include "optimizers/adam.h"
#include "optimizers/ftrl.h"
#include "optimizers/gradient_descent.h"
#include "optimizers/rms_prop.h"

namespace belfry {
namespace {

// What TowerOptimizer, which lies above this folder, makes of an optimizer.
class ForTowers : public Optimizer {
 public:
  explicit ForTowers(const Optimizer& optimizer)
      : Optimizer([parts = parts_of(optimizer)] { return parts; }, /*tower=*/true) {}
  explicit ForTowers(std::function<Optimizer()> make)
      : Optimizer([make = std::move(make)] { return parts_of(make()); }, /*tower=*/true) {}
};

Optimizer optimizer_named(const std::string& name) {
  constexpr double kKerasEpsilon = 1e-7;
  if (name == "Adagrad") return Adagrad({.epsilon = kKerasEpsilon});
  if (name == "Adam") return Adam({.epsilon = kKerasEpsilon});
  if (name == "Ftrl") return Ftrl();
  if (name == "RMSProp") return RMSProp();
  if (name == "SGD") return GradientDescent();
  fail(ErrorKind::kInvalidArgument, "optimizer '", name, "' is not one of Adagrad, Adam, Ftrl, RMSProp, SGD");
}

Optimizer for_towers(const Optimizer& optimizer) {
  return optimizer.is_tower_optimizer() ? optimizer : Optimizer(ForTowers(optimizer));
}

}  // namespace

CannedOptimizer::CannedOptimizer(const Optimizer& optimizer) : optimizer_(for_towers(optimizer)) {}
CannedOptimizer::CannedOptimizer(const std::string& name) : CannedOptimizer(optimizer_named(name)) {}
CannedOptimizer::CannedOptimizer(std::function<Optimizer()> make, Deferred) : optimizer_(ForTowers(std::move(make))) {}

}  // namespace belfry
