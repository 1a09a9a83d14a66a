#include "linear_model.h"

#include <algorithm>

#include "data/tensor_input_fn.h"
#include "estimator/losses/losses.h"
#include "estimator/metrics/means.h"
#include "optimizers/gradient_descent.h"
#include "tests/testing.h"

namespace belfry::testing {

at::Tensor linear_output(const Features& features, ModelContext& ctx) {
  const auto zero = [] { return torch::zeros({1}); };
  return features["x"] * ctx.variable("linear/w", zero) + ctx.variable("linear/b", zero);
}

TrainOp descend(const at::Tensor& loss, ModelContext& ctx) {
  return GradientDescent({.learning_rate = 0.1}).minimize(loss, ctx);
}

EstimatorSpec linear_model_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  const at::Tensor y = linear_output(features, ctx);
  if (mode == ModeKeys::kPredict) return EstimatorSpec::predict({{"y", y}, {"twice", 2 * y}});
  const at::Tensor loss = losses::mean_squared_error(labels.tensor(), y, ctx);
  if (mode == ModeKeys::kEval) return EstimatorSpec::eval(loss, {{"mean_y", metrics::mean(y)}});
  return EstimatorSpec::train(loss, descend(loss, ctx));
}

Features line_features(int64_t rows) {
  return {{"x", torch::arange(rows, torch::kFloat) / static_cast<double>(std::max<int64_t>(rows, 1))}};
}

Labels line_labels(int64_t rows) { return 2 * line_features(rows)["x"] + 1; }

InputFn line(int64_t rows, int64_t batch_size, int64_t epochs) {
  return [=] { return Dataset::from_tensors(line_features(rows), line_labels(rows)).repeat(epochs).batch(batch_size); };
}

InputFn line_without_labels(int64_t rows, int64_t batch_size) {
  return [=] { return Dataset::from_tensors(line_features(rows)).batch(batch_size); };
}

InputFn no_input() {
  return [] { return Dataset::from_tensors(line_features(4), line_labels(4)).take(0).batch(2); };
}

RunConfig quiet(const std::string& model_dir) {
  return {.model_dir = model_dir, .save_summary_steps = 0, .log_step_count_steps = 0};
}

CapturedLog::CapturedLog() {
  before_ = set_log_sink([this](LogLevel level, std::string_view message) {
    const std::lock_guard lock(mutex_);
    messages_.emplace_back(level, message);
  });
}

CapturedLog::~CapturedLog() { set_log_sink(std::move(before_)); }

int CapturedLog::count(LogLevel level, const std::string& text) const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(std::count_if(messages_.begin(), messages_.end(), [&](const auto& message) {
    return message.first == level && message.second.find(text) != std::string::npos;
  }));
}

std::string CapturedLog::text() const {
  const std::lock_guard lock(mutex_);
  std::string all;
  for (const auto& [level, message] : messages_) all += concat(to_string(level), " ", message, "\n");
  return all;
}

double saved(const Estimator& estimator, const std::string& variable) {
  return estimator.get_variable_value(variable).item<double>();
}

}  // namespace belfry::testing
