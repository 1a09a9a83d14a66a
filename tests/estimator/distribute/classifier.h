// A model that only trains equally when replicas are weighed right, its data, and Estimators under strategies by name.
#pragma once

#include <torch/nn/pimpl.h>

#include <string>

#include "estimator/estimator.h"
#include "tests/distribute/strategies.h"

namespace belfry::testing {

// Quiet, and trained and evaluated under that strategy_named, or under none for "".
RunConfig under(const std::string& directory, const std::string& strategy);

int replicas_of(const std::string& strategy);

template <class Holder>
Holder in_double(Holder module) {
  module->to(at::kDouble);
  return module;
}

// A classifier with all that depends on which rows a replica has: weights, clipping by the global norm, momentum, a
// mean of means that would be wrong, metrics with their own weights.
EstimatorSpec classifier(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx);

// Features "x" [count, 3] and "weight" [count] of the classifier, and its labels.
Features rows(int64_t count);
Labels classes(int64_t count);

// `count` rows, in batches of which the last may be short.
InputFn batches(int64_t count, int64_t size, int64_t passes = 1);

// All but Belfry's own, to 1e-10.
void check_same_variables(const Estimator& one, const Estimator& other);

}  // namespace belfry::testing
