// Numbers and text of CSV cells.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace belfry::data_internal {

// The number that all of `text` is, spaces around it and a leading '+' aside; nothing for another text or a number that
// the type cannot hold. Independent of the locale. For float, double and int64_t.
template <class Number>
std::optional<Number> read_number(std::string_view text);

// The start of `text`, with what cannot be printed replaced, for messages.
std::string printable(std::string_view text);

}  // namespace belfry::data_internal
