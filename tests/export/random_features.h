// Inputs of a model as its receiver promises them.
#pragma once

#include "core/tensor_dict.h"
#include "export/serving_input_receiver.h"

namespace belfry::testing {

// Numbers of the receiver's specs: floats from a normal distribution, integers from the spec's range. Free lengths go
// by the number of rows.
Features random_features(const ServingInputReceiver& receiver, int64_t rows, uint64_t seed);

}  // namespace belfry::testing
