#include "distribute/internal/nccl_reduce.h"

#include "core/error.h"

#ifdef BELFRY_NCCL
#include <torch/csrc/cuda/nccl.h>

#include <mutex>
#endif

namespace belfry::internal {

#ifdef BELFRY_NCCL

bool has_nccl() { return true; }

void nccl_reduce(std::vector<at::Tensor>& parts, size_t root) {
  // Two threads that use one communicator at once would hang or mix their sums.
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  try {
    torch::cuda::nccl::reduce(parts, static_cast<int32_t>(root));
  } catch (const c10::Error& error) {
    fail(ErrorKind::kInternal, "the sum of the gradients of ", parts.size(), " GPUs: ", error.what_without_backtrace());
  }
}

#else

bool has_nccl() { return false; }

void nccl_reduce(std::vector<at::Tensor>& parts, size_t) {
  fail(ErrorKind::kUnimplemented, "the sum over ", parts.size(), " GPUs: this Belfry was built without NCCL");
}

#endif

}  // namespace belfry::internal
