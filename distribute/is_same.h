// Whether two replicas have the same value.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../core/nested.h"

namespace belfry::internal {

template <class T>
bool is_same(const T& a, const T& b);

template <class T>
struct Sameness {
  static bool of(const T& a, const T& b) {
    if constexpr (HasNestFields<T>) {
      return Sameness<std::remove_cvref_t<decltype(nest_fields(std::declval<T&>()))>>::of(
          nest_fields(const_cast<T&>(a)), nest_fields(const_cast<T&>(b)));  // NOLINT: read only
    } else if constexpr (requires {
                           { a == b } -> std::convertible_to<bool>;
                         }) {
      return static_cast<bool>(a == b);
    } else {
      return false;
    }
  }
};

template <>
struct Sameness<at::Tensor> {
  static bool of(const at::Tensor& a, const at::Tensor& b) { return a.is_same(b); }
};

template <>
struct Sameness<TensorDict> {
  static bool of(const TensorDict& a, const TensorDict& b) {
    const std::vector<at::Tensor> mine = tensors_in(a), others = tensors_in(b);
    return mine.size() == a.size() && structure_of(a) == structure_of(b) &&
           std::equal(mine.begin(), mine.end(), others.begin(), is_same<at::Tensor>);
  }
};

template <class Range>
struct RangeSameness {
  static bool of(const Range& a, const Range& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const auto& x, const auto& y) { return is_same(x, y); });
  }
};
template <class T>
struct Sameness<std::vector<T>> : RangeSameness<std::vector<T>> {};
template <class T, size_t N>
struct Sameness<std::array<T, N>> : RangeSameness<std::array<T, N>> {};
template <class T>
struct Sameness<std::map<std::string, T>> : RangeSameness<std::map<std::string, T>> {};

template <class T>
struct Sameness<std::optional<T>> {
  static bool of(const std::optional<T>& a, const std::optional<T>& b) {
    return a.has_value() == b.has_value() && (!a || is_same(*a, *b));
  }
};

template <class... T>
struct Sameness<std::tuple<T...>> {
  static bool of(const std::tuple<T...>& a, const std::tuple<T...>& b) {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return (is_same<std::remove_cvref_t<T>>(std::get<I>(a), std::get<I>(b)) && ...);
    }
    (std::index_sequence_for<T...>());
  }
};
template <class A, class B>
struct Sameness<std::pair<A, B>> {
  static bool of(const std::pair<A, B>& a, const std::pair<A, B>& b) {
    return is_same(a.first, b.first) && is_same(a.second, b.second);
  }
};

// The same tensors, not merely equal ones, in the places of a structure; of anything else what is equal, and false
// where that is not known of a T.
template <class T>
bool is_same(const T& a, const T& b) {
  return Sameness<T>::of(a, b);
}

}  // namespace belfry::internal
