#include "optimizers/ftrl.h"

#include <ATen/ATen.h>

#include <cmath>

#include "core/error.h"
#include "optimizers/internal/check_options.h"

namespace belfry {
namespace {

class FtrlRule : public UpdateRule {
 public:
  explicit FtrlRule(FtrlOptions options) : options_(std::move(options)) {}

  std::string name() const override { return "Ftrl"; }
  std::vector<SlotSpec> slots() const override {
    return {{"accumulator", options_.initial_accumulator_value}, {"linear", 0.0}};
  }

  bool wants_positive_rate() const override { return true; }

  void apply(const UpdateArguments& arguments, UpdateLists& lists) const override {
    for (size_t i = 0; i < lists.parameters.size(); ++i) {
      update(arguments.learning_rate, lists.parameters[i], lists.gradients[i], lists.slots[0][i], lists.slots[1][i]);
    }
  }

 private:
  at::Tensor raised(const at::Tensor& accumulator) const {
    const double power = -options_.learning_rate_power;
    return power == 0.5 ? accumulator.sqrt() : accumulator.pow(power);
  }

  void update(double rate, at::Tensor& value, const at::Tensor& gradient, at::Tensor& accumulator,
              at::Tensor& linear) const {
    const at::Tensor before = raised(accumulator);
    accumulator.addcmul_(gradient, gradient);
    const at::Tensor after = raised(accumulator);
    // In TensorFlow's order: the second term is large, and what it leaves of the others depends on it.
    const at::Tensor shrunk = gradient.add(value, 2 * options_.l2_shrinkage_regularization_strength);
    linear.add_(shrunk.sub((after - before).div_(rate).mul_(value)));
    const double l1 = options_.l1_regularization_strength;
    const double l2 = options_.l2_regularization_strength + options_.beta / (2 * rate);
    const at::Tensor moved = (linear.sign() * l1 - linear) / (after / rate + 2 * l2);
    value.copy_(at::where(linear.abs() > l1, moved, at::zeros_like(moved)));
  }

  FtrlOptions options_;
};

std::shared_ptr<const UpdateRule> make_rule(const FtrlOptions& options) {
  require(!options.learning_rate.is_constant() || options.learning_rate.at(0) > 0, "Ftrl: learning_rate is ",
          options.learning_rate.is_constant() ? options.learning_rate.at(0) : 0, "; a number above 0 is wanted");
  require(options.learning_rate_power <= 0 && std::isfinite(options.learning_rate_power),
          "Ftrl: learning_rate_power is ", options.learning_rate_power, "; a number of 0 or below is wanted");
  internal::check_range("Ftrl", "initial_accumulator_value", options.initial_accumulator_value, 0.0, HUGE_VAL);
  internal::check_range("Ftrl", "l1_regularization_strength", options.l1_regularization_strength, 0.0, HUGE_VAL);
  internal::check_range("Ftrl", "l2_regularization_strength", options.l2_regularization_strength, 0.0, HUGE_VAL);
  internal::check_range("Ftrl", "l2_shrinkage_regularization_strength", options.l2_shrinkage_regularization_strength,
                        0.0, HUGE_VAL);
  internal::check_range("Ftrl", "beta", options.beta, 0.0, HUGE_VAL);
  return std::make_shared<FtrlRule>(options);
}

}  // namespace

Ftrl::Ftrl(FtrlOptions options)
    : Optimizer(make_rule(options), internal::checked_rate("Ftrl", options.learning_rate), options.name) {}

}  // namespace belfry
