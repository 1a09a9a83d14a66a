// How input reaches an Estimator.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>

#include "dataset.h"
#include "input_context.h"

namespace belfry {

namespace internal {
template <class F>
concept ContextInputFn = std::is_invocable_r_v<Dataset, F&, const InputContext&>;
template <class F>
concept PlainInputFn = !ContextInputFn<F> && std::is_invocable_r_v<Dataset, F&>;
}  // namespace internal

// Called once for each train, evaluate or predict, so that every call starts with a fresh reading: fn(), or
// fn(const InputContext&) for one that goes by the number of replicas. Under a strategy its batches are for one replica
// each. Copyable, as a std::function.
class InputFn {
 public:
  InputFn() = default;
  InputFn(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)
  template <class F>
  requires(!std::same_as<F, InputFn> && internal::ContextInputFn<F>) InputFn(F fn)  // NOLINT
      : function_(std::move(fn)) {}
  template <class F>
  requires(!std::same_as<F, InputFn> && internal::PlainInputFn<F>) InputFn(F fn) {  // NOLINT
    std::function<Dataset()> plain(std::move(fn));
    if (plain) function_ = [plain = std::move(plain)](const InputContext&) { return plain(); };
  }

  explicit operator bool() const { return static_cast<bool>(function_); }
  Dataset operator()(const InputContext& context = {}) const { return function_(context); }

 private:
  std::function<Dataset(const InputContext&)> function_;
};

}  // namespace belfry
