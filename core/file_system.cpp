#include "core/file_system.h"

#include <unistd.h>

#include <atomic>

#include "core/error.h"

namespace belfry {
namespace {

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

FileLockAttempt FileSystem::try_lock(const std::string& path, std::string_view) {
  fail(ErrorKind::kUnimplemented, "cannot lock '", path, "': this file system has no locks");
}

std::string read_file(FileSystem& files, const std::string& path) {
  const std::unique_ptr<RandomAccessFile> file = files.open(path);
  std::string bytes(file->size(), '\0');
  file->read(0, bytes.size(), bytes.data());
  return bytes;
}

std::string temporary_path(const std::string& path) {
  static std::atomic<uint64_t> counter{0};
  return concat(path, ".tmp-", ::getpid(), "-", counter++);
}

void write_file_atomically(FileSystem& files, const std::string& path, std::string_view bytes) {
  const std::string temporary = temporary_path(path);
  try {
    const std::unique_ptr<WritableFile> file = files.create(temporary);
    file->append(bytes);
    file->sync();
    file->close();
    files.rename(temporary, path);
  } catch (...) {
    try {
      files.remove_file(temporary);
    } catch (const Error&) {  // the first error says more
    }
    throw;
  }
  files.sync_directory(folder_of(path));
}

std::string join_path(std::string_view folder, std::string_view name) {
  if (folder.empty() || (!name.empty() && name.front() == '/')) return std::string(name);
  std::string path(folder);
  if (path.back() != '/') path += '/';
  return path.append(name);
}

}  // namespace belfry
