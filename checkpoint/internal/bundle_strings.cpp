#include "checkpoint/internal/bundle_strings.h"

#include <limits>

#include "checkpoint/internal/varint.h"
#include "core/crc32c.h"
#include "core/internal/little_endian.h"

namespace belfry {
namespace {

// The checksum sees a length as a number of 4 bytes, or of 8 where it needs them, not as the varint.
uint32_t crc_with_length(uint32_t crc, uint64_t length) {
  std::string bytes;
  if (length <= std::numeric_limits<uint32_t>::max()) {
    put_little_endian(bytes, static_cast<uint32_t>(length));
  } else {
    put_little_endian(bytes, length);
  }
  return crc32c(bytes, crc);
}

bool take_lengths(std::string_view& bytes, int64_t count, std::vector<uint64_t>& lengths, uint32_t& crc) {
  for (int64_t i = 0; i < count; ++i) {
    uint64_t length = 0;
    if (!take_varint(bytes, length)) return false;
    lengths.push_back(length);
    crc = crc_with_length(crc, length);
  }
  return true;
}

}  // namespace

BundleStrings encode_bundle_strings(const std::string* begin, const std::string* end) {
  BundleStrings encoded;
  uint32_t crc = 0;
  for (const std::string* string = begin; string != end; ++string) {
    put_varint(encoded.bytes, string->size());
    crc = crc_with_length(crc, string->size());
  }
  std::string rest;
  put_little_endian(rest, mask_crc32c(crc));
  for (const std::string* string = begin; string != end; ++string) rest += *string;
  encoded.masked_crc = mask_crc32c(crc32c(rest, crc));
  encoded.bytes += rest;
  return encoded;
}

const char* decode_bundle_strings(std::string_view bytes, int64_t count, uint32_t masked_crc,
                                  std::vector<std::string>& strings) {
  // A length takes a byte at least: no more are believed.
  if (count < 0 || static_cast<uint64_t>(count) > bytes.size()) return "it has fewer bytes than strings";
  std::vector<uint64_t> lengths;
  uint32_t crc = 0;
  if (!take_lengths(bytes, count, lengths, crc) || bytes.size() < sizeof(uint32_t)) return "its strings are cut off";
  if (get_little_endian<uint32_t>(bytes) != mask_crc32c(crc)) return "the lengths of its strings fail their checksum";
  if (mask_crc32c(crc32c(bytes, crc)) != masked_crc) return "it fails its checksum";
  bytes.remove_prefix(sizeof(uint32_t));
  for (const uint64_t length : lengths) {
    if (length > bytes.size()) return "its strings are longer than its bytes";
    strings.emplace_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  return bytes.empty() ? nullptr : "bytes follow its strings";
}

}  // namespace belfry
