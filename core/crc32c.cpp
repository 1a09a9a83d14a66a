#include "core/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace belfry {

uint32_t crc32c(std::string_view bytes, uint32_t crc) {
  constexpr size_t kPiece = 1 << 30;  // ISA-L takes the length as an int
  crc = ~crc;                         // ISA-L leaves both inversions to its caller
  while (!bytes.empty()) {
    const size_t length = std::min(bytes.size(), kPiece);
    auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));  // not written to
    crc = crc32_iscsi(data, static_cast<int>(length), crc);
    bytes.remove_prefix(length);
  }
  return ~crc;
}

}  // namespace belfry
