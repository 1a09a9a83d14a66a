#include "data/internal/npy_type.h"

#include <charconv>
#include <map>
#include <string_view>

#include "core/error.h"
#include "data/internal/csv_number.h"

namespace belfry::data_internal {
namespace {

std::optional<at::ScalarType> number_named(std::string_view name) {
  static const std::map<std::string_view, at::ScalarType> kNumbers{
      {"b1", at::kBool},  {"i1", at::kChar},   {"i2", at::kShort},        {"i4", at::kInt},           {"i8", at::kLong},
      {"u1", at::kByte},  {"u2", at::kUInt16}, {"u4", at::kUInt32},       {"u8", at::kUInt64},        {"f2", at::kHalf},
      {"f4", at::kFloat}, {"f8", at::kDouble}, {"c8", at::kComplexFloat}, {"c16", at::kComplexDouble}};
  const auto found = kNumbers.find(name);
  if (found == kNumbers.end()) return std::nullopt;
  return found->second;
}

// The number after the type's letter; 0 for none that can be.
uint64_t width_of(std::string_view name) {
  uint64_t width = 0;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + 1, end, width);
  constexpr uint64_t kWidest = uint64_t{1} << 40;
  if (error != std::errc() || stop != end || width > kWidest) return 0;
  return width;
}

}  // namespace

NpyType parse_npy_type(const std::string& descr, const std::string& where) {
  std::string_view name = descr;
  NpyType type;
  if (!name.empty() && std::string_view("<>=|").find(name[0]) != std::string_view::npos) {
    type.swapped = name[0] == '>';
    name.remove_prefix(1);
  }
  const uint64_t width = name.empty() ? 0 : width_of(name);
  type.number = number_named(name);
  const bool strings = width > 0 && (name[0] == 'S' || name[0] == 'U');
  require(type.number || strings, where, ": the array is of type '", printable(descr),
          "'; b1, i1 to i8, u1 to u8, f2 to f8, c8, c16, S and U with a width can be read");
  type.unicode = name[0] == 'U';
  if (type.unicode) {
    type.part_size = sizeof(char32_t);
  } else if (type.number) {
    type.part_size = name[0] == 'c' ? width / 2 : width;
  }
  type.item_size = type.unicode ? width * sizeof(char32_t) : width;
  return type;
}

}  // namespace belfry::data_internal
