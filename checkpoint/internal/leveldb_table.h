// Sorted tables of keys and values in LevelDB's format, in memory.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace belfry {

// Calls `visit` for each key and value in order. kDataLoss, with `path`, when `bytes` are not such a table or a
// checksum is wrong.
void read_leveldb_table(const std::string& path, std::string_view bytes,
                        const std::function<void(std::string_view key, std::string_view value)>& visit);

// Not compressed, as TensorFlow wants it.
std::string leveldb_table_bytes(const std::map<std::string, std::string>& entries);

}  // namespace belfry
