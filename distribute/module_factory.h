// What makes a module, and what it makes.
#pragma once

#include <ATen/core/Tensor.h>

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace belfry::internal {

// The module class behind a holder (Net made by TORCH_MODULE) or a shared_ptr<NetImpl>.
template <class Handle>
using ModuleOf = std::remove_cvref_t<decltype(*std::declval<Handle&>().operator->())>;

template <class Handle>
std::shared_ptr<ModuleOf<Handle>> pointer_of(const Handle& handle) {
  if constexpr (requires { handle.ptr(); }) {
    return handle.ptr();
  } else {
    return handle;
  }
}

// Asking a module holder whether it can be called without arguments does not compile.
template <class F>
concept ModuleFactory = !requires {
  typename F::ContainedType;
}
&&std::invocable<F&>;

template <class T>
inline constexpr bool kIsState = std::is_convertible_v<T, at::Tensor> || requires(T& t) {
  t->parameters();
}
|| requires(T& t) { t.parameters(); };

}  // namespace belfry::internal
