#include "estimator/metrics/internal/class_ids.h"

#include <ATen/ATen.h>

#include "core/error.h"

namespace belfry::internal {
namespace {

[[noreturn]] void fail_with_first(const char* where, const at::Tensor& ids, const at::Tensor& outside,
                                  int64_t num_classes) {
  const int64_t first = outside.flatten().nonzero()[0].item<int64_t>();
  const int64_t rows = ids.dim() == 0 ? 1 : ids.size(0);
  fail(ErrorKind::kOutOfRange, where, ": class ", ids.flatten()[first].item<int64_t>(), " in row ",
       first / (ids.numel() / rows), " is outside [0, ", num_classes, ")");
}

}  // namespace

at::Tensor class_ids(const char* where, const at::Tensor& ids, int64_t num_classes) {
  const at::Tensor whole = ids.detach().to(at::kLong);
  const at::Tensor outside = whole.lt(0).logical_or(whole.ge(num_classes));
  if (outside.any().item<bool>()) fail_with_first(where, whole, outside, num_classes);
  return whole;
}

}  // namespace belfry::internal
