#include "export/export_directory.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "core/error.h"

namespace belfry {
namespace {

constexpr int kTries = 10;
constexpr uint64_t kCopyBytes = 1 << 20;

int64_t unix_seconds() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(since_epoch).count();
}

void sleep_until_next_second() {
  const auto now = std::chrono::system_clock::now();
  std::this_thread::sleep_until(std::chrono::floor<std::chrono::seconds>(now) + std::chrono::seconds(1));
}

// A name of its own for every export of every process, which the end of the export replaces. Processes of several
// machines may have one number: the random part tells them apart.
std::string temporary_name(int64_t seconds) {
  static const auto process = std::random_device()();
  static std::atomic<int> count{0};
  return concat("temp-", seconds, "-", getpid(), "-", process, "-", count++);
}

std::string parent_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

// Written with one slash between parts, and nothing that leads out of the folder.
bool stays_inside(const std::string& path) {
  const std::string framed = "/" + path + "/";
  const auto has = [&](const char* part) { return framed.find(part) != std::string::npos; };
  return !path.empty() && !has("//") && !has("/../") && !has("/./");
}

void check_assets(FileSystem& files, const std::map<std::string, std::string>& assets) {
  for (const auto& [destination, source] : assets) {
    require(stays_inside(destination), "assets_extra: '", destination, "' is not a relative path below assets.extra/");
    if (!files.exists(source) || files.is_directory(source)) {
      fail(ErrorKind::kNotFound, "assets_extra: '", source, "', to be copied to '", destination, "', is not a file");
    }
  }
}

void copy_file(FileSystem& files, const std::string& from, const std::string& to) {
  const auto source = files.open(from);
  files.make_directories(parent_of(to));
  const auto copy = files.create(to);
  const uint64_t size = source->size();
  std::string piece;
  for (uint64_t at = 0; at < size; at += piece.size()) {
    piece.resize(std::min(kCopyBytes, size - at));
    source->read(at, piece.size(), piece.data());
    copy->append(piece);
  }
  copy->sync();
  copy->close();
}

void sync_tree(FileSystem& files, const std::string& folder) {
  for (const std::string& name : files.list(folder)) {
    const std::string path = join_path(folder, name);
    if (files.is_directory(path)) sync_tree(files, path);
  }
  files.sync_directory(folder);
}

// False when another export has the name by now.
bool rename_unless_taken(FileSystem& files, const std::string& from, const std::string& to) {
  if (files.exists(to)) return false;
  try {
    files.rename(from, to);
  } catch (const Error&) {
    if (files.exists(from) && files.exists(to)) return false;  // lost the race for this second
    throw;
  }
  return true;
}

std::string claim_a_second(FileSystem& files, const std::string& base, const std::string& temporary,
                           const ExportDirectoryOptions& options) {
  int64_t seconds = 0;
  for (int i = 0; i < kTries; ++i) {
    if (i > 0) options.wait_for_next_second();
    seconds = options.now();
    const std::string path = join_path(base, std::to_string(seconds));
    if (rename_unless_taken(files, temporary, path)) return path;
  }
  fail(ErrorKind::kAlreadyExists, "export: ", kTries, " seconds in a row were taken by other exports in ", base,
       "; the last was ", seconds);
}

void remove_quietly(FileSystem& files, const std::string& folder) {
  try {
    files.remove_all(folder);
  } catch (const Error&) {  // the error on its way to the caller says more
  }
}

}  // namespace

std::string export_to_directory(const std::string& base, FileSystem& files,
                                const std::function<void(const std::string& folder)>& write,
                                const ExportDirectoryOptions& given) {
  ExportDirectoryOptions options = given;
  if (!options.now) options.now = unix_seconds;
  if (!options.wait_for_next_second) options.wait_for_next_second = sleep_until_next_second;
  require(!base.empty(), "export: the folder to export to has no name");
  check_assets(files, options.assets_extra);
  const std::string temporary = join_path(base, temporary_name(options.now()));
  try {
    files.make_directories(temporary);
    write(temporary);
    for (const auto& [destination, source] : options.assets_extra) {
      copy_file(files, source, join_path(join_path(temporary, "assets.extra"), destination));
    }
    sync_tree(files, temporary);
    const std::string path = claim_a_second(files, base, temporary, options);
    files.sync_directory(base);
    return path;
  } catch (...) {
    remove_quietly(files, temporary);
    throw;
  }
}

void write_export_file(FileSystem& files, const std::string& path, std::string_view bytes) {
  files.make_directories(parent_of(path));
  const auto file = files.create(path);
  file->append(bytes);
  file->sync();
  file->close();
}

}  // namespace belfry
