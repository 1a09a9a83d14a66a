// Files in Dataset::describe.
#pragma once

#include <cstdint>
#include <string>

namespace belfry::data_internal {

// "'part0.csv' 120 bytes 9f3c": the folder is left out, since a moved file is the same data.
std::string describe_file(const std::string& path, uint64_t size, uint64_t hash);

}  // namespace belfry::data_internal
