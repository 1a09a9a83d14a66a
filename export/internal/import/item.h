// What a value of a traced graph is while it is being imported.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "export/graph/graph.h"

namespace belfry::internal {

// Nothing, a number or text that is known, a tensor or a number of the new graph, or a list.
struct Item {
  using List = std::vector<Item>;
  std::variant<std::monostate, bool, int64_t, double, std::string, GraphValue, List> value = {};

  Item() = default;
  template <class T>
  Item(T from) : value(std::move(from)) {}     // NOLINT(google-explicit-constructor)
  Item(const std::vector<GraphValue>& values)  // NOLINT(google-explicit-constructor)
      : value(List(values.begin(), values.end())) {}

  bool is_none() const { return std::holds_alternative<std::monostate>(value); }
  template <class T>
  const T* get() const {
    return std::get_if<T>(&value);
  }
};

}  // namespace belfry::internal
