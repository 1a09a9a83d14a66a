// What a spec of a served tensor has to be.
#pragma once

#include <string>

#include "export/serving_input_receiver.h"

namespace belfry::internal {

// kInvalidArgument, with the input's name: an empty name, a dtype that tensors of a request cannot have (strings,
// unless they are allowed), a shape whose dimension 0 is not -1 or another one is not positive, an empty range.
void check_tensor_spec(const std::string& name, const TensorSpec& spec, bool strings_too = false);

}  // namespace belfry::internal
