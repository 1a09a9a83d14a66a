// Tensors that come from the user's hands.
#pragma once

#include <string>

#include "data/batch.h"

namespace belfry::data_internal {

// kInvalidArgument, naming `maker` and the entry, when one is an undefined tensor.
void require_defined(const std::string& maker, const Batch& element);

// A value that its giver leaves alone, without a graph, in memory that lasts: copied where the memory is not
// LibTorch's, and where it is a tensor of InferenceMode, with which nothing can be trained.
Value adopt(const Value& value);

// An element whose maker may write to it again when the next one is due: also copied where anybody else holds the
// memory. What shows memory of `source`, the element that it was made from, is not.
Batch adopt_from_maker(Batch element, const Batch& source = {});

}  // namespace belfry::data_internal
