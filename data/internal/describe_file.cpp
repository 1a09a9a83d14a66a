#include "data/internal/describe_file.h"

#include "core/error.h"

namespace belfry::data_internal {

std::string describe_file(const std::string& path, uint64_t size, uint64_t hash) {
  return concat("'", path.substr(path.find_last_of('/') + 1), "' ", size, " bytes ", std::hex, hash);
}

}  // namespace belfry::data_internal
