#include "distribute/internal/dropout_kernel.h"

#include <ATen/ATen.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <limits>
#include <tuple>

#include "distribute/internal/replica_key.h"

namespace belfry::internal {
namespace {

// The key stays on: RandomScope's kernel for bernoulli_ puts the generator in.
std::tuple<at::Tensor, at::Tensor> native_dropout(const at::Tensor& input, double p, std::optional<bool> train) {
  if (!train.value_or(true) || !(p > 0 && p < 1) || input.numel() == 0) {
    const c10::impl::ExcludeDispatchKeyGuard below(kReplicaKey);
    return at::native_dropout(input, p, train);
  }
  const at::Tensor mask = at::empty(input.sizes(), input.options().dtype(at::kBool));
  mask.bernoulli_(1 - p);
  return {input.mul(mask).mul_(1 / (1 - p)), mask};
}

// 0 where a boolean mask lets through, and minus infinity elsewhere.
std::optional<at::Tensor> as_addend(const std::optional<at::Tensor>& mask, const at::Tensor& query) {
  if (!mask || mask->scalar_type() != at::kBool) return mask;
  return at::zeros(mask->sizes(), query.options())
      .masked_fill_(mask->logical_not(), -std::numeric_limits<double>::infinity());
}

// With dropout LibTorch takes this form on the CPU too.
at::Tensor attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const std::optional<at::Tensor>& mask, double dropout_p, bool is_causal,
                     std::optional<double> scale, bool enable_gqa) {
  if (dropout_p == 0) {
    const c10::impl::ExcludeDispatchKeyGuard below(kReplicaKey);
    return at::scaled_dot_product_attention(query, key, value, mask, dropout_p, is_causal, scale, enable_gqa);
  }
  return std::get<0>(at::_scaled_dot_product_attention_math(query, key, value, as_addend(mask, query), dropout_p,
                                                            is_causal, /*dropout_mask=*/std::nullopt, scale,
                                                            enable_gqa));
}

}  // namespace

void register_dropout() {
  static auto* kernels = new torch::Library(torch::Library::IMPL, "aten", kReplicaKey, __FILE__, __LINE__);
  kernels->impl("native_dropout", torch::CppFunction::makeFromUnboxedFunction(&native_dropout));
  kernels->impl("scaled_dot_product_attention", torch::CppFunction::makeFromUnboxedFunction(&attention));
}

}  // namespace belfry::internal
