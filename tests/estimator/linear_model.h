// A small model and its data, for tests that use an Estimator as its users do: y = 2 x + 1 of one feature "x".
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "core/log.h"
#include "estimator/estimator.h"

namespace belfry::testing {

// Variables linear/w and linear/b start at 0 and follow plain gradient descent at rate 0.1. Predictions: "y" and
// "twice"; a metric "mean_y".
EstimatorSpec linear_model_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx);
// What its TRAIN is made of, for variations of it.
at::Tensor linear_output(const Features& features, ModelContext& ctx);
TrainOp descend(const at::Tensor& loss, ModelContext& ctx);

// The numbers 0, 1 … rows - 1 over `rows` as "x", and 2 x + 1 as the label.
Features line_features(int64_t rows);
Labels line_labels(int64_t rows);
// Batches of them in order, by default without end.
InputFn line(int64_t rows = 16, int64_t batch_size = 4, int64_t epochs = kForever);
InputFn line_without_labels(int64_t rows = 16, int64_t batch_size = 4);
InputFn no_input();

// No summaries and no progress, which cost files and time.
RunConfig quiet(const std::string& model_dir);

// Everything that is logged while it lives.
class CapturedLog {
 public:
  CapturedLog();
  ~CapturedLog();
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;

  // How many messages of that level hold the text.
  int count(LogLevel level, const std::string& text) const;
  // All of them, for messages of tests.
  std::string text() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<LogLevel, std::string>> messages_;
  LogSink before_;
};

// The newest checkpoint's value.
double saved(const Estimator& estimator, const std::string& variable);

}  // namespace belfry::testing
