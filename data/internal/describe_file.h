// Files in Dataset::describe.
#pragma once

#include <cstdint>
#include <string>

#include "core/file_system.h"

namespace belfry::data_internal {

// "'part0.csv' 120 bytes 9f3c": the folder is left out, since a moved file is the same data.
std::string describe_file(const std::string& path, uint64_t size, uint64_t hash);
// With the hash of the first and the last 64 KiB: reading all of a big file, only to tell it from others, would take as
// long as a pass over it.
std::string describe_ends(const RandomAccessFile& file, const std::string& path);

}  // namespace belfry::data_internal
