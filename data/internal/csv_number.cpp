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

// Of a number that from_chars finds too far from 1: whether it is too small.
bool is_tiny(std::string_view text) {
  const size_t exponent = text.find_first_of("eE");
  if (exponent != std::string_view::npos) return text.substr(exponent + 1).starts_with('-');
  return text.starts_with("0.") || text.starts_with("-0.") || text.starts_with('.') || text.starts_with("-.");
}

// The float or double nearest to a number that is too small for the type's normal range, where from_chars gives up.
template <class Number>
std::optional<Number> tiny_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range && is_tiny(text)) number = text.starts_with('-') ? -0.0 : 0.0;
  if ((error != std::errc() && !is_tiny(text)) || std::abs(number) >= 1) return std::nullopt;
  return static_cast<Number>(number);
}

}  // namespace

template <class Number>
std::optional<Number> read_number(std::string_view text) {
  text = trimmed(text);
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc()) return number;
  if constexpr (std::is_floating_point_v<Number>) return tiny_number<Number>(text);
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
