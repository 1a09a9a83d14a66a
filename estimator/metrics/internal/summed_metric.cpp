#include "estimator/metrics/internal/summed_metric.h"

#include <ATen/ATen.h>

#include <memory>
#include <utility>

#include "estimator/metrics/internal/alignment.h"

namespace belfry::internal {
namespace {

class SummedFunction : public MetricFunction {
 public:
  SummedFunction(std::string name, Reader reader) : name_(std::move(name)), reader_(std::move(reader)) {}

  std::string name() const override { return name_; }
  at::Tensor result(const States& states) const override { return reader_(states); }

 private:
  std::string name_;
  Reader reader_;
};

at::Tensor ratio(const MetricFunction::States& states) { return divide_no_nan(states[0], states[1]); }

}  // namespace

Metric summed_metric(std::string name, MetricFunction::States states, Reader reader) {
  return {std::make_shared<SummedFunction>(std::move(name), std::move(reader)), std::move(states)};
}

Metric ratio_metric(const char* name, const at::Tensor& values, const at::Tensor& weights) {
  const at::Tensor ones_or_weights = weights_like(name, values, weights);
  return summed_metric(name, {(to_double(values) * ones_or_weights).sum(), ones_or_weights.sum()}, ratio);
}

}  // namespace belfry::internal
