// One call of predict().
#pragma once

#include <memory>

#include "estimator/estimator.h"
#include "estimator/internal/session.h"

namespace belfry::internal {

// The predictions of one batch, with only the keys that were asked for. kInvalidArgument when none of them is there, or
// when keys are asked of predictions that are a lone tensor.
Predictions predict_batch(Session& session, const Features& features, const std::vector<std::string>& keys);

// Owns the session and the input. `config` is what the session was made with.
std::unique_ptr<PredictRange::Source> make_prediction_source(std::shared_ptr<Session> session,
                                                             std::shared_ptr<const RunConfig> config,
                                                             const InputFn& input_fn, PredictOptions options);

}  // namespace belfry::internal
