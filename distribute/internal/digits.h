// Numbers that configurations spell as text.
#pragma once

#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

namespace belfry::internal {

// The number that `text` spells in decimal digits alone: no sign, no blank. None for anything else, and above
// `largest`.
inline std::optional<int> parse_digits(std::string_view text, int largest = std::numeric_limits<int>::max()) {
  int number = 0;
  const char* end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || parsed != end || text.front() == '-' || number > largest) return std::nullopt;
  return number;
}

}  // namespace belfry::internal
