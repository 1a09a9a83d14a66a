// Which part of an argument one replica is given.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../core/error.h"
#include "per_replica.h"

namespace belfry::internal {

// `type` is what a replica sees of a T; get() gives replica r's, check() refuses a PerReplica of another size: `what`
// ("run", "the result of merge_call's function") begins the message.
template <class T>
struct Local {
  static constexpr bool kHasPerReplica = false;
  using type = T;
  static const T& get(const T& value, size_t) { return value; }
  static void check(const T&, size_t, const char*) {}
};

template <class T>
struct Local<PerReplica<T>> {
  static constexpr bool kHasPerReplica = true;
  using type = T;
  static typename PerReplica<T>::const_reference get(const PerReplica<T>& value, size_t replica) {
    return value[replica];
  }
  static void check(const PerReplica<T>& value, size_t replicas, const char* what) {
    require(value.size() == replicas, what, ": a PerReplica of ", value.size(), " components was given to ", replicas,
            replicas == 1 ? " replica" : " replicas");
  }
};

// Containers that hold a PerReplica somewhere are made anew with the components; others go whole, without a copy.
template <class T>
concept HoldsPerReplica = Local<T>::kHasPerReplica;

template <HoldsPerReplica T>
struct Local<std::vector<T>> {
  static constexpr bool kHasPerReplica = true;
  using type = std::vector<typename Local<T>::type>;
  static type get(const std::vector<T>& values, size_t replica) {
    type local;
    for (const T& value : values) local.push_back(Local<T>::get(value, replica));
    return local;
  }
  static void check(const std::vector<T>& values, size_t replicas, const char* what) {
    for (const T& value : values) Local<T>::check(value, replicas, what);
  }
};

template <HoldsPerReplica T>
struct Local<std::map<std::string, T>> {
  static constexpr bool kHasPerReplica = true;
  using type = std::map<std::string, typename Local<T>::type>;
  static type get(const std::map<std::string, T>& values, size_t replica) {
    type local;
    for (const auto& [name, value] : values) local.emplace(name, Local<T>::get(value, replica));
    return local;
  }
  static void check(const std::map<std::string, T>& values, size_t replicas, const char* what) {
    for (const auto& [name, value] : values) Local<T>::check(value, replicas, what);
  }
};

template <HoldsPerReplica T>
struct Local<std::optional<T>> {
  static constexpr bool kHasPerReplica = true;
  using type = std::optional<typename Local<T>::type>;
  static type get(const std::optional<T>& value, size_t replica) {
    return value ? type(Local<T>::get(*value, replica)) : std::nullopt;
  }
  static void check(const std::optional<T>& value, size_t replicas, const char* what) {
    if (value) Local<T>::check(*value, replicas, what);
  }
};

template <class... T>
requires(HoldsPerReplica<T> || ...) struct Local<std::tuple<T...>> {
  static constexpr bool kHasPerReplica = true;
  using type = std::tuple<typename Local<T>::type...>;
  static type get(const std::tuple<T...>& values, size_t replica) {
    return std::apply([&](const T&... value) { return type(Local<T>::get(value, replica)...); }, values);
  }
  static void check(const std::tuple<T...>& values, size_t replicas, const char* what) {
    std::apply([&](const T&... value) { (Local<T>::check(value, replicas, what), ...); }, values);
  }
};

template <class A, class B>
requires(HoldsPerReplica<A> || HoldsPerReplica<B>) struct Local<std::pair<A, B>> {
  static constexpr bool kHasPerReplica = true;
  using type = std::pair<typename Local<A>::type, typename Local<B>::type>;
  static type get(const std::pair<A, B>& value, size_t replica) {
    return {Local<A>::get(value.first, replica), Local<B>::get(value.second, replica)};
  }
  static void check(const std::pair<A, B>& value, size_t replicas, const char* what) {
    Local<A>::check(value.first, replicas, what);
    Local<B>::check(value.second, replicas, what);
  }
};

}  // namespace belfry::internal
