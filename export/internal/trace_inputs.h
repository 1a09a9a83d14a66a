// Random features for tracing.
#pragma once

#include <ATen/core/Generator.h>

#include "core/tensor_dict.h"
#include "export/serving_input_receiver.h"

namespace belfry::internal {

// `rows` rows for every input, by feature name: normal numbers, integers of the spec's range, coin flips. Drawn from
// `generator` alone.
Features random_features(const ServingInputReceiver& receiver, int64_t rows, at::Generator generator);

}  // namespace belfry::internal
