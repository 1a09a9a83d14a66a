#include "optimizers/adam.h"

#include <ATen/ATen.h>

#include <cmath>

#include "optimizers/internal/check_options.h"
#include "optimizers/internal/fused.h"

namespace belfry {
namespace {

class AdamRule : public UpdateRule {
 public:
  AdamRule(double beta1, double beta2, double epsilon) : beta1_(beta1), beta2_(beta2), epsilon_(epsilon) {}

  std::string name() const override { return "Adam"; }
  std::vector<SlotSpec> slots() const override { return {{"m", 0.0}, {"v", 0.0}}; }
  bool counts_updates() const override { return true; }
  bool moves_all_rows() const override { return true; }

  void apply(const UpdateArguments& arguments, UpdateLists& lists) const override {
    const auto t = static_cast<double>(arguments.count);
    const double root_correction2 = std::sqrt(1 - std::pow(beta2_, t));
    if (internal::has_fused_kernel(lists.parameters)) {
      // LibTorch divides sqrt(s) by root_correction2 and then adds its epsilon.
      const std::vector<at::Tensor> steps(lists.parameters.size(), at::full({}, t, at::kFloat));
      at::_fused_adam_(lists.parameters, lists.gradients, lists.slots[0], lists.slots[1], {}, steps,
                       arguments.learning_rate, beta1_, beta2_, /*weight_decay=*/0.0, epsilon_ / root_correction2,
                       /*amsgrad=*/false, /*maximize=*/false);
      return;
    }
    at::_foreach_mul_(lists.slots[0], beta1_);
    at::_foreach_add_(lists.slots[0], lists.gradients, 1 - beta1_);
    at::_foreach_mul_(lists.slots[1], beta2_);
    at::_foreach_addcmul_(lists.slots[1], lists.gradients, lists.gradients, 1 - beta2_);
    auto denominator = at::_foreach_sqrt(lists.slots[1]);
    at::_foreach_add_(denominator, epsilon_);
    const double step_size = arguments.learning_rate * root_correction2 / (1 - std::pow(beta1_, t));
    at::_foreach_addcdiv_(lists.parameters, lists.slots[0], denominator, -step_size);
  }

 private:
  double beta1_;
  double beta2_;
  double epsilon_;
};

std::shared_ptr<const UpdateRule> make_rule(const AdamOptions& options) {
  internal::check_range("Adam", "beta1", options.beta1, 0.0, 1.0);
  internal::check_range("Adam", "beta2", options.beta2, 0.0, 1.0);
  internal::check_range("Adam", "epsilon", options.epsilon, 0.0, HUGE_VAL);
  return std::make_shared<AdamRule>(options.beta1, options.beta2, options.epsilon);
}

}  // namespace

Adam::Adam(AdamOptions options)
    : Optimizer(make_rule(options), internal::checked_rate("Adam", options.learning_rate), options.name) {}

}  // namespace belfry
