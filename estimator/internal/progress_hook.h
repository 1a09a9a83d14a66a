// Progress of a training on the terminal or in the log.
#pragma once

#include "estimator/internal/progress.h"
#include "estimator/session_run_hook.h"

namespace belfry::internal {

// Installed by train() when RunConfig::log_step_count_steps is above 0.
class ProgressHook : public SessionRunHook {
 public:
  explicit ProgressHook(ProgressOptions options) : progress_(std::move(options)) {}

  void after_run(RunContext& context) override {
    if (!context.vetoed()) progress_.update(context.global_step(), context.loss(), context.rows());
  }
  void done(std::string_view reason) { progress_.done(reason); }

 private:
  Progress progress_;
};

}  // namespace belfry::internal
