#include "estimator/metrics/metric.h"

#include <ATen/ATen.h>

#include <typeinfo>
#include <utility>

#include "core/error.h"

namespace belfry {
namespace {

// States: the value, and the rows it was taken from.
class PlainValue : public MetricFunction {
 public:
  std::string name() const override { return "plain value"; }

  States merge(const States& a, const States& b) const override {
    require(a[0].sizes() == b[0].sizes(), "a metric given as a plain value changed its shape from ", a[0].sizes(),
            " to ", b[0].sizes());
    const double rows_a = a[1].item<double>();
    const double rows_b = b[1].item<double>();
    if (rows_b == 0) return a;  // not a product with zero: the value of no rows may be NaN
    if (rows_a == 0) return b;
    const double rows = rows_a + rows_b;
    return {a[0] * (rows_a / rows) + b[0] * (rows_b / rows), at::scalar_tensor(rows, at::kDouble)};
  }

  at::Tensor result(const States& states) const override { return states[0]; }
};

bool same_kind(const MetricFunction& a, const MetricFunction& b) {
  return &a == &b || (typeid(a) == typeid(b) && a.name() == b.name());
}

// The second state of a plain value stays on the CPU, so devices are compared state by state.
MetricFunction::States on_devices_of(const MetricFunction::States& model, MetricFunction::States states) {
  for (size_t i = 0; i < states.size() && i < model.size(); ++i) states[i] = states[i].to(model[i].device());
  return states;
}

}  // namespace

MetricFunction::States MetricFunction::merge(const States& a, const States& b) const {
  require(a.size() == b.size(), "metric ", name(), ": ", a.size(), " states do not merge with ", b.size());
  States sum;
  for (size_t i = 0; i < a.size(); ++i) {
    require(a[i].sizes() == b[i].sizes(), "metric ", name(), ": state ", i, " has shape ", a[i].sizes(),
            " in one batch and ", b[i].sizes(), " in another");
    sum.push_back(a[i] + b[i]);
  }
  return sum;
}

Metric::Metric(std::shared_ptr<const MetricFunction> function, States states)
    : function_(std::move(function)), states_(std::move(states)) {
  require(function_ != nullptr, "a Metric needs a MetricFunction, and got null");
  for (at::Tensor& state : states_) {
    require(state.defined(), "metric ", name(), ": a state is an undefined tensor");
    state = state.detach();
  }
}

Metric::Metric(const at::Tensor& value) {
  static const auto function = std::make_shared<const PlainValue>();
  require(value.defined(), "a metric was given as an undefined tensor");
  function_ = function;
  // A copy: the caller may go on writing into the value.
  const auto held = value.detach().to(value.device(), at::kDouble, /*non_blocking=*/false, /*copy=*/true);
  states_ = {held, at::scalar_tensor(1.0, at::kDouble)};
}

bool Metric::is_plain() const { return typeid(*function_) == typeid(PlainValue); }

void Metric::set_rows(double rows) {
  require(rows >= 0, "the rows of a metric cannot be ", rows);
  if (is_plain()) states_[1] = at::scalar_tensor(rows, at::kDouble);
}

void Metric::merge(const Metric& other) {
  require(same_kind(*function_, *other.function_), "a metric of kind '", name(), "' cannot merge with one of kind '",
          other.name(), "'");
  const at::NoGradGuard no_grad;
  states_ = function_->merge(states_, on_devices_of(states_, other.states_));
}

at::Tensor Metric::result() const {
  const at::NoGradGuard no_grad;
  return function_->result(states_);
}

double Metric::value() const {
  const at::Tensor value = result();
  require(value.numel() == 1, "metric ", name(), " has a value of shape ", value.sizes(), ", not one number");
  return value.item<double>();
}

}  // namespace belfry
