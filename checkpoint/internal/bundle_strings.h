// How the strings of a variable lie in a data file: the lengths as varints, a masked checksum of them, the bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace belfry {

struct BundleStrings {
  std::string bytes;
  uint32_t masked_crc = 0;
};

BundleStrings encode_bundle_strings(const std::string* begin, const std::string* end);

// Null, or what is wrong. `count` was not compared with anything; the checksum of the whole is compared here.
const char* decode_bundle_strings(std::string_view bytes, int64_t count, uint32_t masked_crc,
                                  std::vector<std::string>& strings);

}  // namespace belfry
