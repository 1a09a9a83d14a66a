#include "data/internal/describe_file.h"

#include <algorithm>

#include "core/error.h"
#include "core/hash64.h"

namespace belfry::data_internal {

std::string describe_file(const std::string& path, uint64_t size, uint64_t hash) {
  return concat("'", path.substr(path.find_last_of('/') + 1), "' ", size, " bytes ", std::hex, hash);
}

std::string describe_ends(const RandomAccessFile& file, const std::string& path) {
  constexpr uint64_t kEnd = 64 * 1024;
  const uint64_t size = file.size();
  const uint64_t length = std::min(size, kEnd);
  std::string ends(2 * length, '\0');
  file.read(0, length, ends.data());
  file.read(size - length, length, ends.data() + length);
  return describe_file(path, size, hash64(ends));
}

}  // namespace belfry::data_internal
