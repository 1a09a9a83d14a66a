// Random features for tracing.
#pragma once

#include <ATen/core/Generator.h>

#include "core/tensor_dict.h"
#include "export/internal/free_sizes.h"
#include "export/serving_input_receiver.h"

namespace belfry::internal {

// Of these sizes for every input, by feature name: normal numbers, integers of the spec's range, coin flips. Drawn from
// `generator` alone.
Features random_features(const ServingInputReceiver& receiver, const FreeSizes& sizes, at::Generator generator);

}  // namespace belfry::internal
