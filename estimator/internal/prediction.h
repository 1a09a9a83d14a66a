// One call of predict().
#pragma once

#include <memory>

#include "estimator/estimator.h"
#include "estimator/internal/session.h"
#include "estimator/session_run_hook.h"

namespace belfry::internal {

// The hooks of one predict call: the caller's, and behind them those of the first batch's spec. Owned by the call.
class PredictionHooks {
 public:
  // Begins them. `config` and `store` have to outlive this.
  PredictionHooks(const RunConfig& config, VariableStore& store, Hooks hooks);

  void before_run(RunContext& context);
  void after_run(RunContext& context);
  void end();

 private:
  HookSession session_;
  Hooks hooks_;
  bool spec_hooks_added_ = false;
};

// The predictions of one batch, with only the keys that were asked for. kInvalidArgument when none of them is there, or
// when keys are asked of predictions that are a lone tensor. `context` is of use only while this runs, but for its wish
// to stop.
Predictions predict_batch(Session& session, const Features& features, const std::vector<std::string>& keys,
                          PredictionHooks& hooks, RunContext& context);

// Owns the session and the input. `config` is what the session was made with.
std::unique_ptr<PredictRange::Source> make_prediction_source(std::shared_ptr<Session> session,
                                                             std::shared_ptr<const RunConfig> config,
                                                             const InputFn& input_fn, PredictOptions options);

}  // namespace belfry::internal
