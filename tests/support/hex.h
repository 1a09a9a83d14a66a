// Bytes in a file of text.
#pragma once

#include <string>

namespace belfry::testing {

inline std::string hex(const std::string& bytes) {
  std::string text;
  for (const unsigned char byte : bytes) text += {"0123456789abcdef"[byte / 16], "0123456789abcdef"[byte % 16]};
  return text;
}

}  // namespace belfry::testing
