// Class numbers that are checked before they index anything.
#pragma once

#include <ATen/core/Tensor.h>

namespace belfry::internal {

// `ids` as int64. kOutOfRange, with the first value outside [0, num_classes), its row (index of dimension 0, counted in
// the whole batch where this is a tower's slice) and `where` ("accuracy: labels"), if there is one. Waits for the
// device.
at::Tensor class_ids(const char* where, const at::Tensor& ids, int64_t num_classes);

}  // namespace belfry::internal
