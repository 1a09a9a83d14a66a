// Files that are strings, for reading only.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "tests/support/memory_file.h"

namespace belfry::testing {

// Knows the files it was made with and no folders. Writing is kUnimplemented.
class MemoryFileSystem : public FileSystem {
 public:
  explicit MemoryFileSystem(std::map<std::string, std::string> files) : files_(std::move(files)) {}

  std::unique_ptr<RandomAccessFile> open(const std::string& path) override {
    const auto found = files_.find(path);
    if (found == files_.end()) fail(ErrorKind::kNotFound, "no file '", path, "' in memory");
    return std::make_unique<MemoryFile>(found->second);
  }
  bool exists(const std::string& path) override { return files_.contains(path); }
  bool is_directory(const std::string&) override { return false; }
  std::vector<std::string> list(const std::string&) override { return {}; }

  std::unique_ptr<WritableFile> create(const std::string&) override { refuse(); }
  std::unique_ptr<WritableFile> open_for_append(const std::string&) override { refuse(); }
  void make_directories(const std::string&) override { refuse(); }
  void rename(const std::string&, const std::string&) override { refuse(); }
  void remove_file(const std::string&) override { refuse(); }
  void remove_all(const std::string&) override { refuse(); }
  void sync_directory(const std::string&) override { refuse(); }

 private:
  [[noreturn]] static void refuse() { fail(ErrorKind::kUnimplemented, "files in memory are not written"); }

  std::map<std::string, std::string> files_;
};

}  // namespace belfry::testing
