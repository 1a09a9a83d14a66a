// A head without a model below it. Needs tests/testing.h before it.
#pragma once

#include <ATen/ATen.h>

#include "distribute/replica_set.h"
#include "estimator/heads/head.h"
#include "estimator/model_context.h"
#include "estimator/run_config.h"
#include "optimizers/gradient_descent.h"

namespace belfry::testing {

struct HeadStep {
  Features features;
  Labels labels;
  at::Tensor logits;
  HeadSpecOptions options;

  EstimatorSpec run(const Head& head, ModeKeys mode) {
    VariableStore store(1);
    ReplicaSet replicas(store);
    const RunConfig config;
    ModelContext ctx(replicas, 0, mode, config, {.training = mode == ModeKeys::kTrain});
    return head.create_estimator_spec(features, mode, logits, labels, GradientDescent(), ctx, options);
  }
};

}  // namespace belfry::testing
