#include "export/name_mangling.h"

#include "core/error.h"

namespace belfry {
namespace {

constexpr std::string_view kHexDigits = "0123456789ABCDEF";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter_or_digit(char c) { return is_digit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

// Python's keywords and the names that serialized TorchScript code gives a meaning of its own, a space around each.
constexpr std::string_view kReserved =
    " False None True and as assert async await break class continue def del elif else except finally for from global "
    "if import in is lambda nonlocal not or pass print raise return try while with yield "
    "inf nan infj nanj Optional NoneType Any Tuple List Dict Tensor Device Module Future int float bool str number "
    "device fork self super torch ops CONSTANTS attribute getattr annotate uninitialized unchecked_cast "
    "rpc_async rpc_sync rpc_remote forward training "
    // Members of Python's ScriptModule, which would hide a method of that name.
    "apply bfloat16 buffers children code compile copy cpu cuda define double dump_patches eval extra_repr graph half "
    "inlined_graph ipu load_state_dict modules mtia named_buffers named_children named_modules named_parameters "
    "original_name parameters save share_memory state_dict to to_empty train type xpu ";

bool is_reserved(std::string_view name) {
  return kReserved.find(" " + std::string(name) + " ") != std::string_view::npos;
}

// An underscore is kept between two letters or digits, unless it would begin an escape.
bool keeps_underscore(std::string_view name, size_t i) {
  return i > 0 && i + 1 < name.size() && is_letter_or_digit(name[i - 1]) && is_letter_or_digit(name[i + 1]) &&
         name[i + 1] != 'x';
}

bool is_kept(std::string_view name, size_t i) {
  if (name[i] == '_') return keeps_underscore(name, i);
  if (i == 0 && (is_digit(name[0]) || is_reserved(name))) return false;
  return is_letter_or_digit(name[i]);
}

std::string escaped(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return {'_', 'x', kHexDigits[byte / 16], kHexDigits[byte % 16]};
}

size_t hex_value(std::string_view identifier, size_t i) {
  const size_t value = i < identifier.size() ? kHexDigits.find(identifier[i]) : std::string_view::npos;
  require(value != std::string_view::npos, "'", identifier,
          "' is no mangled name: two hex digits were wanted after _x");
  return value;
}

}  // namespace

std::string mangle_name(std::string_view name) {
  std::string identifier;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '/') {
      identifier += "__";
    } else if (is_kept(name, i)) {
      identifier += name[i];
    } else {
      identifier += escaped(name[i]);
    }
  }
  return identifier;
}

std::string demangle_name(std::string_view identifier) {
  std::string name;
  for (size_t i = 0; i < identifier.size(); ++i) {
    const char next = i + 1 < identifier.size() ? identifier[i + 1] : '\0';
    if (identifier[i] != '_') {
      name += identifier[i];
    } else if (next == '_') {
      name += '/';
      i += 1;
    } else if (next == 'x') {
      name += static_cast<char>(hex_value(identifier, i + 2) * 16 + hex_value(identifier, i + 3));
      i += 3;
    } else {
      name += '_';
    }
  }
  require(mangle_name(name) == identifier, "'", identifier, "' is no mangled name");
  return name;
}

}  // namespace belfry
