// Values of a step, in the log.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "../session_run_hook.h"
#include "second_or_step_timer.h"

namespace belfry {

struct LoggingTensorOptions {
  // "loss", or names among the spec's predictions.
  std::vector<std::string> tensors = {};
  // One of the two; or neither, with at_end.
  std::optional<int64_t> every_n_iter = {};
  std::optional<double> every_n_secs = {};
  // Those of the last step, when the loop ends.
  bool at_end = false;
  // Makes the message of the values, which come by name; empty: "tag = value, …", sorted, with the seconds since the
  // last message.
  std::function<std::string(const std::map<std::string, at::Tensor>& values)> formatter = {};
};

// Logs at the first step and then every so many, counted by itself: steps of training, batches of the other modes.
class LoggingTensorHook : public SessionRunHook {
 public:
  // kInvalidArgument for no names, a number that is not above 0, both timers, or none without at_end.
  explicit LoggingTensorHook(LoggingTensorOptions options);

  void begin(HookSession& session) override;
  // kNotFound, with the names there are, for a name that the spec does not have.
  void after_run(RunContext& context) override;
  void end(HookSession& session) override;

 private:
  std::map<std::string, at::Tensor> values_of(const RunContext& context) const;
  void log(const std::map<std::string, at::Tensor>& values);

  LoggingTensorOptions options_;
  std::optional<SecondOrStepTimer> timer_;
  int64_t iteration_ = 0;
  std::map<std::string, at::Tensor> last_;  // kept for at_end
};

}  // namespace belfry
