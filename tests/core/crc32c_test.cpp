#include "core/crc32c.h"

#include <numeric>
#include <string>

#include "tests/testing.h"

using belfry::crc32c;

TEST_CASE("CRC-32C is that of RFC 3720", "[core]") {
  std::string rising(32, '\0');
  std::iota(rising.begin(), rising.end(), '\0');
  CHECK(crc32c("") == 0);
  CHECK(crc32c("123456789") == 0xe3069283U);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aaU);
  CHECK(crc32c(std::string(32, '\xff')) == 0x62a8ab43U);
  CHECK(crc32c(rising) == 0x46dd794eU);
}

TEST_CASE("CRC-32C is taken in pieces", "[core]") {
  CHECK(crc32c("56789", crc32c("1234")) == crc32c("123456789"));
  CHECK(crc32c("", crc32c("1234")) == crc32c("1234"));
}

TEST_CASE("a masked checksum differs and comes back", "[core]") {
  const uint32_t crc = crc32c("foo");
  CHECK(belfry::masked_crc32c("foo") != crc);
  CHECK(belfry::unmask_crc32c(belfry::masked_crc32c("foo")) == crc);
  CHECK(belfry::mask_crc32c(0) == 0xa282ead8U);
}
