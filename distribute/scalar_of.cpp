#include "distribute/scalar_of.h"

#include <ATen/ATen.h>

namespace belfry::internal {

at::Tensor scalar_of(int64_t number) { return at::full({}, number, at::kLong); }
at::Tensor scalar_of(double number) { return at::full({}, number, at::kDouble); }

}  // namespace belfry::internal
