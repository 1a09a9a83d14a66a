#include "estimator/internal/model_fn_error.h"

#include <cstdlib>
#include <string>
#include <string_view>

#include "core/error.h"
#include "data/internal/rows.h"

namespace belfry::internal {
namespace {

std::string given(const std::vector<Batch>& batches) {
  std::string text;
  for (const Batch& batch : batches) {
    text += concat(text.empty() ? "" : "; then ", "features ", data_internal::describe(batch.features));
    if (!batch.labels.empty()) text += concat(", labels ", data_internal::describe(batch.labels));
  }
  return text;
}

}  // namespace

// Only a GPU's allocator has a type of its own for it.
bool is_out_of_memory(const c10::Error& error) {
  return dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
         std::string_view(error.what_without_backtrace()).find("DefaultCPUAllocator") != std::string_view::npos;
}

void fail_in_model_fn(const c10::Error& error, ModeKeys mode, const std::vector<Batch>& batches) {
  const bool is_lacking = dynamic_cast<const c10::NotImplementedError*>(&error) != nullptr;
  // LibTorch's own switch for its stack.
  const std::string reason = std::getenv("TORCH_SHOW_CPP_STACKTRACES") ? error.what() : error.what_without_backtrace();
  fail(is_lacking ? ErrorKind::kUnimplemented : ErrorKind::kInvalidArgument, "the model_fn, called for ",
       to_string(mode), " with ", given(batches), ": LibTorch: ", reason);
}

}  // namespace belfry::internal
