// What train and evaluate give back.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace belfry {

enum class StopReason {
  kSteps,        // .steps were made
  kMaxSteps,     // global_step reached .max_steps, perhaps before this call
  kInputEnded,   // the input has no more batches
  kHook,         // a hook asked for it; detail has its words
  kInterrupted,  // SIGINT or SIGTERM; the same call, with .max_steps, goes on from here
};

// "steps reached" and so on.
const char* to_string(StopReason reason);

struct TrainResult {
  StopReason reason = StopReason::kSteps;
  std::string detail;
  int64_t global_step = 0;
  int64_t steps = 0;          // made by this call
  int64_t examples_seen = 0;  // since global step 0, over all calls
  int64_t epochs = 0;         // passes over the input that were begun, as far as it tells
  double loss = 0;            // of the last step, before its update; not a number when no step was made
};

// The loss, every metric and global_step, in the order of the model_fn's metrics.
class EvalResult {
 public:
  // The value as a number. kNotFound with the names there are; kInvalidArgument for a metric with several elements.
  // When no row was evaluated every metric is 0, as in TensorFlow, and no name is unknown: the model_fn, which names
  // the metrics, did not run.
  double operator[](const std::string& name) const;
  const at::Tensor& tensor(const std::string& name) const;
  bool contains(const std::string& name) const;
  double loss() const { return (*this)["loss"]; }
  int64_t global_step() const { return global_step_; }
  // Rows that were evaluated.
  int64_t rows() const { return rows_; }

  void set(const std::string& name, at::Tensor value);
  void set_counts(int64_t global_step, int64_t rows);
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }

 private:
  std::vector<std::pair<std::string, at::Tensor>> values_;
  int64_t global_step_ = 0;
  int64_t rows_ = 0;
};

}  // namespace belfry
