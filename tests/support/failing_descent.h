// An update that fails half-way.
#pragma once

#include <ATen/ATen.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>

#include "optimizers/optimizer.h"

namespace belfry::testing {

// Plain gradient descent, which throws while it is armed, when it has moved a variable (or a tower's share of it)
// already.
class FailingDescent : public UpdateRule {
 public:
  using Armed = std::shared_ptr<std::atomic<bool>>;

  explicit FailingDescent(Armed armed) : armed_(std::move(armed)) {}
  std::string name() const override { return "FailingDescent"; }
  void apply(const UpdateArguments& arguments, UpdateLists& lists) const override {
    for (size_t i = 0; i < lists.parameters.size(); ++i) {
      lists.parameters[i].sub_(lists.gradients[i], arguments.learning_rate);
      if (*armed_) throw std::runtime_error("the update failed");
    }
  }

 private:
  Armed armed_;
};

inline Optimizer failing_descent(FailingDescent::Armed armed) {
  return Optimizer(std::make_shared<FailingDescent>(std::move(armed)), 0.1);
}

}  // namespace belfry::testing
