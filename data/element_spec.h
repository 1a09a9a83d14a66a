// What is known of a data set's elements before one is made.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belfry {

// A size that differs from element to element, as that of dimension 0 where a last batch may be smaller.
inline constexpr int64_t kUnknownSize = -1;

struct EntrySpec {
  std::optional<at::ScalarType> dtype = {};  // none for strings
  std::vector<int64_t> shape = {};           // each at least 0, or kUnknownSize

  friend bool operator==(const EntrySpec&, const EntrySpec&) = default;
};

// The entries of the features and labels, in their order.
struct ElementSpec {
  using Entry = std::pair<std::string, EntrySpec>;

  std::vector<Entry> features = {};
  std::vector<Entry> labels = {};

  friend bool operator==(const ElementSpec&, const ElementSpec&) = default;
};

}  // namespace belfry
