// A timestamped folder that is there whole or not at all.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "../core/file_system.h"

namespace belfry {

struct ExportDirectoryOptions {
  // Path below assets.extra/ to the file that is copied there. The path is relative and has no "..".
  std::map<std::string, std::string> assets_extra = {};
  // Unix seconds, and the wait for the next one; tests give their own.
  std::function<int64_t()> now = {};
  std::function<void()> wait_for_next_second = {};
};

// Calls `write(folder)` for a folder BASE/temp-SECONDS-..., syncs it, and renames it to BASE/<unix seconds>, which is
// returned. A second that is taken is left to the other export and the next one tried, ten times; then kAlreadyExists.
// When anything fails the temporary folder is removed and the error passed on; servers that look for numbers in BASE
// never see half an export. (Where syncing BASE itself fails, after the rename, the whole export stays.) BASE is made
// where it is missing. Threads and processes may export to one BASE.
std::string export_to_directory(const std::string& base, FileSystem& files,
                                const std::function<void(const std::string& folder)>& write,
                                const ExportDirectoryOptions& options = {});

// One file of an export: made with its folders, written and synced.
void write_export_file(FileSystem& files, const std::string& path, std::string_view bytes);

}  // namespace belfry
