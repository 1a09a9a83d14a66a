// CRC-32C (Castagnoli), the checksum of records and checkpoints.
#pragma once

#include <cstdint>
#include <string_view>

namespace belfry {

// Of `bytes`, or, when `crc` is that of the bytes before them, of both together. With the processor's instructions.
uint32_t crc32c(std::string_view bytes, uint32_t crc = 0);

// What files hold in place of a checksum, since a checksum over bytes that contain checksums is weak:
// rotated right by 15, plus 0xa282ead8.
constexpr uint32_t mask_crc32c(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8U; }

constexpr uint32_t unmask_crc32c(uint32_t masked) {
  const uint32_t rotated = masked - 0xa282ead8U;
  return (rotated >> 17) | (rotated << 15);
}

inline uint32_t masked_crc32c(std::string_view bytes) { return mask_crc32c(crc32c(bytes)); }

}  // namespace belfry
