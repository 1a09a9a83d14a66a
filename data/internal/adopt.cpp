#include "data/internal/adopt.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/error.h"

namespace belfry::data_internal {
namespace {

bool has_memory(const at::Tensor& tensor) { return tensor.layout() == at::kStrided && tensor.has_storage(); }

// Memory that came through from_blob without a deleter is not LibTorch's, and may be gone before the data set is.
bool is_borrowed(const at::Tensor& tensor) {
  return has_memory(tensor) && tensor.numel() > 0 && tensor.storage().data_ptr().get_context() == nullptr;
}

// Besides the one that is given.
bool is_held(const at::Tensor& tensor) {
  return tensor.use_count() > 1 || (has_memory(tensor) && tensor.storage().use_count() > 1);
}

bool shows(const TensorDict& dict, const at::Tensor& tensor) {
  return std::any_of(dict.begin(), dict.end(), [&](const auto& entry) {
    if (!entry.second.is_tensor()) return false;
    const at::Tensor& other = entry.second.tensor();
    return other.is_same(tensor) || (has_memory(other) && has_memory(tensor) && other.is_alias_of(tensor));
  });
}

at::Tensor copy_of(const at::Tensor& tensor) {
  const c10::InferenceMode never_inference(false);
  return tensor.detach().clone();
}

void require_defined(const std::string& maker, const char* side, const TensorDict& dict) {
  for (const auto& [name, value] : dict) {
    require(value.is_strings() || value.tensor().defined(), maker, ": the ", side, " '", name,
            "' is an undefined tensor");
  }
}

TensorDict adopt_from_maker(TensorDict made, const Batch& source) {
  TensorDict out;
  for (const auto& [name, value] : made) {
    if (value.is_strings()) {
      out.set(name, value);
      continue;
    }
    const at::Tensor& tensor = value.tensor();
    const bool is_shared = is_held(tensor) && !shows(source.features, tensor) && !shows(source.labels, tensor);
    if (is_shared || is_borrowed(tensor) || tensor.is_inference()) {
      out.set(name, copy_of(tensor));
    } else {
      out.set(name, tensor.requires_grad() ? tensor.detach() : tensor);
    }
  }
  return out;
}

}  // namespace

void require_defined(const std::string& maker, const Batch& element) {
  require_defined(maker, "feature", element.features);
  require_defined(maker, "label", element.labels);
}

Value adopt(const Value& value) {
  if (value.is_strings()) return value;
  const at::Tensor& tensor = value.tensor();
  return is_borrowed(tensor) || tensor.is_inference() ? copy_of(tensor) : tensor.detach();
}

Batch adopt_from_maker(Batch element, const Batch& source) {
  TensorDict features = adopt_from_maker(std::move(element.features), source);
  return {std::move(features), adopt_from_maker(std::move(element.labels), source)};
}

}  // namespace belfry::data_internal
