#include "optimizers/momentum.h"

#include <ATen/ATen.h>

#include "optimizers/internal/check_options.h"

namespace belfry {
namespace {

class MomentumRule : public UpdateRule {
 public:
  MomentumRule(double momentum, bool nesterov) : momentum_(momentum), nesterov_(nesterov) {}

  std::string name() const override { return "Momentum"; }
  std::vector<SlotSpec> slots() const override { return {{"momentum", 0.0}}; }

  void apply(const UpdateArguments& arguments, UpdateLists& lists) const override {
    const auto& accumulators = lists.slots[0];
    at::_foreach_mul_(accumulators, momentum_);
    at::_foreach_add_(accumulators, lists.gradients);
    if (nesterov_) {
      const auto direction = at::_foreach_add(lists.gradients, accumulators, momentum_);
      at::_foreach_add_(lists.parameters, direction, -arguments.learning_rate);
    } else {
      at::_foreach_add_(lists.parameters, accumulators, -arguments.learning_rate);
    }
  }

 private:
  double momentum_;
  bool nesterov_;
};

std::shared_ptr<const UpdateRule> make_rule(const MomentumOptions& options) {
  internal::check_range("Momentum", "momentum", options.momentum, 0.0, 1.0);
  return std::make_shared<MomentumRule>(options.momentum, options.use_nesterov);
}

}  // namespace

Momentum::Momentum(MomentumOptions options)
    : Optimizer(make_rule(options), internal::checked_rate("Momentum", options.learning_rate), options.name) {}

}  // namespace belfry
