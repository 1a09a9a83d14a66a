#include "estimator/model_context.h"

#include <ATen/ATen.h>

#include "core/error.h"

namespace belfry {

ModelContext::ModelContext(ReplicaSet& replicas, int tower, ModeKeys mode, const RunConfig& config, Options options)
    : StepContext(replicas.replica(tower), options), replicas_(replicas), mode_(mode), config_(config) {}

ModelContext::~ModelContext() = default;

void ModelContext::summary(const std::string& tag, const at::Tensor& value) {
  require(value.numel() == 1, "summary '", tag, "' is a tensor of shape ", value.sizes(), "; one number is wanted");
  summaries_.push_back({tag, value.detach(), SummaryKind::kScalar});
}

void ModelContext::summary_histogram(const std::string& tag, const at::Tensor& values) {
  require(values.defined() && !values.is_complex(), "summary_histogram '", tag,
          "': a tensor of real numbers is wanted");
  summaries_.push_back({tag, values.detach(), SummaryKind::kHistogram});
}

void ModelContext::summary_zero_fraction(const std::string& tag, const at::Tensor& values) {
  require(values.defined(), "summary_zero_fraction '", tag, "': the tensor is undefined");
  summaries_.push_back({tag, values.detach(), SummaryKind::kZeroFraction});
}

ModelContext& ModelContext::make_tower(int tower, Options options) {
  towers_.push_back(std::make_unique<ModelContext>(replicas_, tower, mode_, config_, options));
  return *towers_.back();
}

std::vector<const StepContext*> ModelContext::steps() const {
  if (towers_.empty()) return {this};
  std::vector<const StepContext*> steps;
  for (const auto& tower : towers_) steps.push_back(tower.get());
  return steps;
}

}  // namespace belfry
