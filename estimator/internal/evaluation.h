// One call of evaluate().
#pragma once

#include <string>

#include "estimator/estimator.h"
#include "estimator/internal/session.h"

namespace belfry::internal {

// Runs the model over the input and writes the results as summaries into `directory`, with the checkpoint's path as a
// text. `checkpoint` is empty for initial weights.
EvalResult evaluate(Session& session, const RunConfig& config, const InputFn& input_fn, const EvaluateOptions& options,
                    const std::string& directory, const std::string& checkpoint);

}  // namespace belfry::internal
