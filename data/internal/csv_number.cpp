#include "data/internal/csv_number.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace belfry::data_internal {
namespace {

constexpr size_t kPrintedBytes = 40;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t";
  const size_t start = text.find_first_not_of(kSpaces);
  if (start == std::string_view::npos) return {};
  text = text.substr(start, text.find_last_not_of(kSpaces) + 1 - start);
  const bool plus = text.size() > 1 && text[0] == '+' && text[1] != '-' && text[1] != '+';
  return plus ? text.substr(1) : text;
}

// The float nearest to a number that is too small for float's normal range, where from_chars may give up.
std::optional<float> tiny_float(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || std::abs(number) >= 1) return std::nullopt;
  return static_cast<float>(number);
}

}  // namespace

template <class Number>
std::optional<Number> read_number(std::string_view text) {
  text = trimmed(text);
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc()) return number;
  if constexpr (std::is_same_v<Number, float>) return tiny_float(text);
  return std::nullopt;
}

template std::optional<float> read_number<float>(std::string_view);
template std::optional<double> read_number<double>(std::string_view);
template std::optional<int64_t> read_number<int64_t>(std::string_view);

std::string printable(std::string_view text) {
  std::string out;
  for (char c : text.substr(0, kPrintedBytes)) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return text.size() > kPrintedBytes ? out + "..." : out;
}

}  // namespace belfry::data_internal
