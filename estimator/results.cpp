#include "estimator/results.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/error.h"

namespace belfry {

const char* to_string(StopReason reason) {
  switch (reason) {
    case StopReason::kSteps:
      return "steps reached";
    case StopReason::kMaxSteps:
      return "max_steps reached";
    case StopReason::kInputEnded:
      return "input ended";
    case StopReason::kHook:
      return "stopped by a hook";
    case StopReason::kInterrupted:
      return "interrupted";
  }
  return "unknown";
}

const at::Tensor& EvalResult::tensor(const std::string& name) const {
  for (const auto& [known, value] : values_) {
    if (known == name) return value;
  }
  std::string names;
  for (const auto& [known, value] : values_) names += " " + known;
  fail(ErrorKind::kNotFound, "EvalResult: no metric '", name, "'; there is", names);
}

double EvalResult::operator[](const std::string& name) const {
  if (rows_ == 0 && !contains(name)) return 0;
  const at::Tensor& value = tensor(name);
  require(value.numel() == 1, "EvalResult: metric '", name, "' has shape ", value.sizes(), ": use tensor()");
  return value.item<double>();
}

bool EvalResult::contains(const std::string& name) const {
  return std::any_of(values_.begin(), values_.end(), [&](const auto& entry) { return entry.first == name; });
}

void EvalResult::set(const std::string& name, at::Tensor value) { values_.emplace_back(name, std::move(value)); }

void EvalResult::set_counts(int64_t global_step, int64_t rows) {
  global_step_ = global_step;
  rows_ = rows;
  set("global_step", at::full({}, global_step, at::kLong));
}

}  // namespace belfry
