// Where in the user's program something was called, as a key and as text.
#pragma once

#include <compare>
#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

namespace belfry {

// A source position and how often this step has passed it before. Towers that run the same program meet by it.
struct CallSite {
  std::string_view file;
  uint32_t line = 0;
  uint32_t column = 0;
  int64_t occurrence = 0;

  CallSite() = default;
  explicit CallSite(const std::source_location& where, int64_t occurrence = 0)
      : file(where.file_name()), line(where.line()), column(where.column()), occurrence(occurrence) {}

  friend auto operator<=>(const CallSite&, const CallSite&) = default;
};

// "model.cpp:12:5", with the occurrence when it is not the first.
std::string to_string(const CallSite& site);

}  // namespace belfry
