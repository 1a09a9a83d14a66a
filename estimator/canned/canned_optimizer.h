// The optimizer of a canned estimator, by value or by name.
#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "../../optimizers/optimizer.h"

namespace belfry {

// Any Optimizer; a function that makes one, called once, at the first step; or a name, for one with the settings of
// Keras: "Adagrad", "Adam", "Ftrl", "RMSProp" (each with learning rate 0.001), "SGD" (0.01). A value, copies of which
// threads may share.
class CannedOptimizer {
 public:
  CannedOptimizer(const Optimizer& optimizer);  // NOLINT(google-explicit-constructor)
  // kInvalidArgument, with the names there are, for another one.
  CannedOptimizer(const std::string& name);                                  // NOLINT(google-explicit-constructor)
  CannedOptimizer(const char* name) : CannedOptimizer(std::string(name)) {}  // NOLINT(google-explicit-constructor)
  template <class Make>
  requires std::is_invocable_r_v<Optimizer, Make&> CannedOptimizer(Make make)  // NOLINT(google-explicit-constructor)
      : CannedOptimizer(std::function<Optimizer()>(std::move(make)), Deferred()) {}

  // Ready for towers: what TowerOptimizer would make of it.
  const Optimizer& optimizer() const { return optimizer_; }

 private:
  struct Deferred {};
  CannedOptimizer(std::function<Optimizer()> make, Deferred);

  Optimizer optimizer_;
};

}  // namespace belfry
