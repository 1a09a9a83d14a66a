#include "estimator/metrics/internal/class_ids.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/error.h"
#include "distribute/step_context.h"

namespace belfry::internal {
namespace {

// -1 when there is none. A plain loop, since on the CPU this runs in each step of a training.
int64_t first_outside(const at::Tensor& ids, int64_t num_classes) {
  const at::Tensor here = ids.contiguous();
  const int64_t* begin = here.const_data_ptr<int64_t>();
  const int64_t* end = begin + here.numel();
  const auto* found = std::find_if(begin, end, [=](int64_t id) { return id < 0 || id >= num_classes; });
  return found == end ? -1 : found - begin;
}

[[noreturn]] void fail_at(const char* where, const at::Tensor& ids, int64_t position, int64_t num_classes) {
  const int64_t rows = ids.dim() == 0 ? 1 : ids.size(0);
  fail(ErrorKind::kOutOfRange, where, ": class ", ids.flatten()[position].item<int64_t>(), " in ",
       StepContext::describe_row(position / (ids.numel() / rows), rows), " is outside [0, ", num_classes, ")");
}

}  // namespace

at::Tensor class_ids(const char* where, const at::Tensor& ids, int64_t num_classes) {
  const at::Tensor whole = ids.detach().to(at::kLong);
  const int64_t position = first_outside(whole.cpu(), num_classes);
  if (position >= 0) fail_at(where, whole, position, num_classes);
  return whole;
}

}  // namespace belfry::internal
