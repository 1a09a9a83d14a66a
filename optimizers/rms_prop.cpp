#include "optimizers/rms_prop.h"

#include <ATen/ATen.h>

#include <cmath>

#include "core/error.h"
#include "optimizers/internal/check_options.h"

namespace belfry {
namespace {

class RMSPropRule : public UpdateRule {
 public:
  explicit RMSPropRule(const RMSPropOptions& options)
      : rho_(options.rho),
        momentum_(options.momentum),
        epsilon_(options.epsilon),
        initial_(options.initial_mean_square),
        centered_(options.centered),
        accumulates_(options.momentum > 0 || options.epsilon_inside_root) {}

  std::string name() const override { return "RMSprop"; }
  std::vector<SlotSpec> slots() const override {
    std::vector<SlotSpec> slots{{"rms", initial_}};
    if (accumulates_) slots.push_back({"momentum", 0.0});
    if (centered_) slots.push_back({"mg", 0.0});
    return slots;
  }
  bool moves_all_rows() const override { return !accumulates_; }

  void apply(const UpdateArguments& arguments, UpdateLists& lists) const override {
    at::_foreach_mul_(lists.slots[0], rho_);
    at::_foreach_addcmul_(lists.slots[0], lists.gradients, lists.gradients, 1 - rho_);
    std::vector<at::Tensor> spread = at::_foreach_add(lists.slots[0], 0.0);
    if (centered_) {
      std::vector<at::Tensor>& means = lists.slots.back();
      at::_foreach_mul_(means, rho_);
      at::_foreach_add_(means, lists.gradients, 1 - rho_);
      at::_foreach_addcmul_(spread, means, means, -1.0);
    }
    if (accumulates_) {
      at::_foreach_add_(spread, epsilon_);
      at::_foreach_sqrt_(spread);
      at::_foreach_mul_(lists.slots[1], momentum_);
      at::_foreach_addcdiv_(lists.slots[1], lists.gradients, spread, arguments.learning_rate);
      at::_foreach_sub_(lists.parameters, lists.slots[1]);
    } else {
      at::_foreach_sqrt_(spread);
      at::_foreach_add_(spread, epsilon_);
      at::_foreach_addcdiv_(lists.parameters, lists.gradients, spread, -arguments.learning_rate);
    }
  }

 private:
  double rho_;
  double momentum_;
  double epsilon_;
  double initial_;
  bool centered_;
  bool accumulates_;  // the steps, in the slot "momentum"
};

std::shared_ptr<const UpdateRule> make_rule(const RMSPropOptions& options) {
  internal::check_range("RMSProp", "rho", options.rho, 0.0, 1.0);
  internal::check_range("RMSProp", "momentum", options.momentum, 0.0, 1.0);
  internal::check_range("RMSProp", "initial_mean_square", options.initial_mean_square, 0.0, HUGE_VAL);
  require(options.epsilon > 0 && std::isfinite(options.epsilon), "RMSProp: epsilon is ", options.epsilon,
          "; a number above 0 is wanted");
  return std::make_shared<RMSPropRule>(options);
}

}  // namespace

RMSProp::RMSProp(RMSPropOptions options)
    : Optimizer(make_rule(options), internal::checked_rate("RMSProp", options.learning_rate), options.name) {}

}  // namespace belfry
