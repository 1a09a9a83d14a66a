#include "distribute/internal/nccl_reduce.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <functional>

#include "core/error.h"

#ifdef BELFRY_NCCL
#include <torch/csrc/cuda/nccl.h>

#include <mutex>
#endif

namespace belfry::internal {
namespace {

bool on_different_gpus(const std::vector<at::Tensor>& parts) {
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].is_cuda()) return false;
    for (size_t k = 0; k < i; ++k) {
      if (parts[k].device() == parts[i].device()) return false;
    }
  }
  return true;
}

bool is_dense_float(const at::Tensor& part) {
  const at::ScalarType dtype = part.scalar_type();
  return part.layout() == at::kStrided &&
         (dtype == at::kFloat || dtype == at::kDouble || dtype == at::kHalf || dtype == at::kBFloat16);
}

}  // namespace

const char* why_not_nccl(const std::vector<at::Tensor>& parts) {
  if (!std::all_of(parts.begin(), parts.end(), [](const at::Tensor& part) { return part.defined(); })) {
    return "one is undefined";
  }
  if (!on_different_gpus(parts)) return "they are not each on a GPU of their own";
  if (!std::all_of(parts.begin(), parts.end(), is_dense_float)) return "they are not dense floats";
  return has_nccl() ? nullptr : "this Belfry was built without NCCL";
}

#ifdef BELFRY_NCCL

namespace {

// Two threads that use one communicator at once would hang or mix their sums.
void one_at_a_time(size_t gpus, const std::function<void()>& call) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  try {
    call();
  } catch (const c10::Error& error) {
    fail(ErrorKind::kInternal, "the sum over ", gpus, " GPUs: ", error.what_without_backtrace());
  }
}

}  // namespace

bool has_nccl() { return true; }

void nccl_reduce(std::vector<at::Tensor>& parts, size_t root) {
  one_at_a_time(parts.size(), [&] { torch::cuda::nccl::reduce(parts, static_cast<int32_t>(root)); });
}

void nccl_all_reduce(std::vector<at::Tensor>& parts) {
  one_at_a_time(parts.size(), [&] { torch::cuda::nccl::all_reduce(parts, parts); });
}

#else

namespace {

[[noreturn]] void refuse(size_t gpus) {
  fail(ErrorKind::kUnimplemented, "the sum over ", gpus, " GPUs: this Belfry was built without NCCL");
}

}  // namespace

bool has_nccl() { return false; }
void nccl_reduce(std::vector<at::Tensor>& parts, size_t) { refuse(parts.size()); }
void nccl_all_reduce(std::vector<at::Tensor>& parts) { refuse(parts.size()); }

#endif

}  // namespace belfry::internal
