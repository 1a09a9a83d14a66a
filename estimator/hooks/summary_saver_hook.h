// Numbers and distributions of training, for TensorBoard.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "../session_run_hook.h"
#include "../summaries/summary.h"
#include "second_or_step_timer.h"

namespace belfry {

// At the first step, and then every so many, writes the loss (unless the model_fn wrote a summary of that name) and
// what the model_fn gave to ctx.summary and its like.
class SummarySaverHook : public SessionRunHook {
 public:
  // `summaries` gives those of the step at hand.
  SummarySaverHook(std::optional<int64_t> save_steps, std::optional<double> save_secs,
                   std::function<const Summaries&()> summaries);

  void begin(HookSession& session) override;
  void after_run(RunContext& context) override;

 private:
  SecondOrStepTimer timer_;
  std::function<const Summaries&()> summaries_;
  EventFileWriter* events_ = nullptr;
};

}  // namespace belfry
