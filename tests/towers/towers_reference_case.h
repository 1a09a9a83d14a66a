// A case of reference/towers.json. Needs tests/testing.h before it.
#pragma once

#include "tests/support/reference.h"
#include "towers/replicate_model_fn.h"
#include "towers_reference_models.h"

namespace belfry::testing {

// Trains, evaluates and predicts. `run`, a case of the file, says what is run; `reference`, a case of the same inputs,
// what has to come out.
void check_case(const Json& file, const Json& run, const Json& reference, TowerWeighting weighting,
                ReferenceForward forward);

}  // namespace belfry::testing
