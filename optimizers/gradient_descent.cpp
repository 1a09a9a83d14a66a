#include "optimizers/gradient_descent.h"

#include <ATen/ATen.h>

#include "optimizers/internal/check_options.h"

namespace belfry {
namespace {

class GradientDescentRule : public UpdateRule {
 public:
  std::string name() const override { return "SGD"; }
  void apply(const UpdateArguments& arguments, UpdateLists& lists) const override {
    at::_foreach_add_(lists.parameters, lists.gradients, -arguments.learning_rate);
  }
};

}  // namespace

GradientDescent::GradientDescent(GradientDescentOptions options)
    : Optimizer(std::make_shared<GradientDescentRule>(),
                internal::checked_rate("GradientDescent", std::move(options.learning_rate)), std::move(options.name)) {}

}  // namespace belfry
