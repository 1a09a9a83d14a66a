#include "optimizers/adagrad.h"

#include <ATen/ATen.h>

#include "core/error.h"
#include "optimizers/internal/check_options.h"
#include "optimizers/internal/fused.h"

namespace belfry {
namespace {

class AdagradRule : public UpdateRule {
 public:
  AdagradRule(double initial, double epsilon) : initial_(initial), epsilon_(epsilon) {}

  std::string name() const override { return "Adagrad"; }
  std::vector<SlotSpec> slots() const override { return {{"accumulator", initial_}}; }

  void apply(const UpdateArguments& arguments, UpdateLists& lists) const override {
    if (internal::has_fused_kernel(lists.parameters)) {
      // The kernel's own step counter only serves a learning-rate decay, which is not asked for.
      const std::vector<at::Tensor> steps(lists.parameters.size(), at::zeros({}));
      at::_fused_adagrad_(lists.parameters, lists.gradients, lists.slots[0], steps, arguments.learning_rate,
                          /*lr_decay=*/0.0, /*weight_decay=*/0.0, epsilon_, /*maximize=*/false);
      return;
    }
    at::_foreach_addcmul_(lists.slots[0], lists.gradients, lists.gradients, 1.0);
    auto root = at::_foreach_sqrt(lists.slots[0]);
    if (epsilon_ > 0) at::_foreach_add_(root, epsilon_);
    at::_foreach_addcdiv_(lists.parameters, lists.gradients, root, -arguments.learning_rate);
  }

 private:
  double initial_;
  double epsilon_;
};

std::shared_ptr<const UpdateRule> make_rule(const AdagradOptions& options) {
  require(options.initial_accumulator_value >= 0 && options.epsilon >= 0 &&
              options.initial_accumulator_value + options.epsilon > 0,
          "Adagrad: initial_accumulator_value is ", options.initial_accumulator_value, " and epsilon ", options.epsilon,
          "; neither may be negative, nor both 0");
  return std::make_shared<AdagradRule>(options.initial_accumulator_value, options.epsilon);
}

}  // namespace

Adagrad::Adagrad(AdagradOptions options)
    : Optimizer(make_rule(options), internal::checked_rate("Adagrad", options.learning_rate), options.name) {}

}  // namespace belfry
