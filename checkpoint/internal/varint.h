// Numbers of 7 bits a byte, the lowest first, as protobuf and LevelDB write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace belfry {

inline void put_varint(std::string& to, uint64_t number) {
  for (; number >= 0x80; number >>= 7) to += static_cast<char>(number | 0x80);
  to += static_cast<char>(number);
}

// Takes it off the front. False when the bytes end before it does, or it has more than 64 bits.
inline bool take_varint(std::string_view& bytes, uint64_t& number) {
  number = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    number |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

}  // namespace belfry
