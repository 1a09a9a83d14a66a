#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "core/error.h"
#include "core/file_system.h"
#include "core/internal/posix_lock.h"

namespace belfry {
namespace {

constexpr size_t kBufferSize = 64 * 1024;
constexpr uint64_t kLargestTransfer = 1 << 30;  // the system moves no more than 2 GiB in one call

[[noreturn]] void fail_with(const std::error_code& code, const char* what, const std::string& path) {
  const bool absent = code == std::errc::no_such_file_or_directory || code == std::errc::not_a_directory;
  fail(absent ? ErrorKind::kNotFound : ErrorKind::kIo, "cannot ", what, " '", path, "': ", code.message());
}

[[noreturn]] void fail_with_errno(const char* what, const std::string& path) {
  fail_with(std::error_code(errno, std::generic_category()), what, path);
}

// Closes at the end of its life. Moves nowhere: each file owns one.
class Descriptor {
 public:
  Descriptor(const std::string& path, int flags, const char* what)
      : number_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    if (number_ < 0) fail_with_errno(what, path);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  // False, with errno set, when the system reports a late write error.
  bool close() {
    const int result = ::close(number_);
    number_ = -1;
    return result == 0;
  }

 private:
  int number_;
};

class PosixWritableFile : public WritableFile {
 public:
  PosixWritableFile(const std::string& path, int flags)
      : path_(path), file_(path, O_WRONLY | O_CREAT | flags, "write") {}

  ~PosixWritableFile() override {
    try {
      if (file_.is_open() && !failed_) flush();
    } catch (const Error&) {  // documented: only close() tells
    }
  }

  void append(std::string_view bytes) override {
    require_usable();
    if (buffer_.size() + bytes.size() > kBufferSize) flush();
    if (bytes.size() >= kBufferSize) {
      write(bytes);
    } else {
      buffer_.append(bytes);
    }
  }

  void flush() override {
    require_usable();
    write(buffer_);
    buffer_.clear();
  }

  void sync() override {
    flush();
    if (::fdatasync(file_.number()) == 0) return;
    failed_ = true;
    fail_with_errno("sync", path_);
  }

  void close() override {
    if (!file_.is_open()) return;
    flush();
    if (!file_.close()) fail_with_errno("close", path_);
  }

 private:
  void require_usable() const {
    if (!file_.is_open()) fail(ErrorKind::kFailedPrecondition, "'", path_, "' is written to after it was closed");
    if (failed_) fail(ErrorKind::kIo, "'", path_, "' is written to after an earlier write of it failed");
  }

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_.number(), bytes.data(), std::min<uint64_t>(bytes.size(), kLargestTransfer));
      if (written < 0) {
        if (errno == EINTR) continue;
        failed_ = true;
        fail_with_errno("write", path_);
      }
      bytes.remove_prefix(static_cast<size_t>(written));
    }
  }

  const std::string path_;
  Descriptor file_;
  std::string buffer_;
  bool failed_ = false;  // how much of the file is there is not known any more
};

class PosixRandomAccessFile : public RandomAccessFile {
 public:
  explicit PosixRandomAccessFile(const std::string& path) : path_(path), file_(path, O_RDONLY, "open") {
    if (S_ISDIR(status().st_mode)) fail_with(std::make_error_code(std::errc::is_a_directory), "open", path);
  }

  uint64_t size() const override { return static_cast<uint64_t>(status().st_size); }

  void read(uint64_t offset, uint64_t length, char* to) const override {
    for (uint64_t done = 0; done < length;) {
      const ssize_t count = ::pread(file_.number(), to + done, std::min(length - done, kLargestTransfer),
                                    static_cast<off_t>(offset + done));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail_with_errno("read", path_);
      if (count == 0) {
        fail(ErrorKind::kDataLoss, "'", path_, "' ends too early: bytes ", offset, " to ", offset + length,
             " were wanted and it has ", size());
      }
      done += static_cast<uint64_t>(count);
    }
  }

 private:
  struct stat status() const {
    struct stat status;
    if (::fstat(file_.number(), &status) != 0) fail_with_errno("examine", path_);
    return status;
  }

  const std::string path_;
  Descriptor file_;
};

class PosixFileSystem : public FileSystem {
 public:
  std::unique_ptr<WritableFile> create(const std::string& path) override {
    return std::make_unique<PosixWritableFile>(path, O_TRUNC);
  }

  std::unique_ptr<WritableFile> open_for_append(const std::string& path) override {
    return std::make_unique<PosixWritableFile>(path, O_APPEND);
  }

  std::unique_ptr<RandomAccessFile> open(const std::string& path) override {
    return std::make_unique<PosixRandomAccessFile>(path);
  }

  bool exists(const std::string& path) override {
    std::error_code code;
    const bool exists = std::filesystem::exists(path, code);
    if (code) fail_with(code, "examine", path);
    return exists;
  }

  bool is_directory(const std::string& path) override {
    std::error_code code;
    const auto status = std::filesystem::status(path, code);
    if (code && status.type() != std::filesystem::file_type::not_found) fail_with(code, "examine", path);
    return std::filesystem::is_directory(status);
  }

  std::vector<std::string> list(const std::string& directory) override {
    std::error_code code;
    std::vector<std::string> names;
    std::filesystem::directory_iterator entry(directory, code);
    for (const std::filesystem::directory_iterator end; !code && entry != end; entry.increment(code)) {
      names.push_back(entry->path().filename().string());
    }
    if (code) fail_with(code, "list", directory);
    std::sort(names.begin(), names.end());
    return names;
  }

  void make_directories(const std::string& path) override {
    std::error_code code;
    std::filesystem::create_directories(path, code);
    if (!code && !is_directory(path)) code = std::make_error_code(std::errc::not_a_directory);
    if (code) fail(ErrorKind::kIo, "cannot make the folder '", path, "': ", code.message());
  }

  void rename(const std::string& from, const std::string& to) override {
    if (std::rename(from.c_str(), to.c_str()) == 0) return;
    const std::error_code code(errno, std::generic_category());
    fail_with(code, concat("rename '", from, "' to").c_str(), to);
  }

  void remove_file(const std::string& path) override {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR) fail_with_errno("remove", path);
  }

  void remove_all(const std::string& path) override {
    std::error_code code;
    std::filesystem::remove_all(path, code);
    if (code) fail_with(code, "remove", path);
  }

  void sync_directory(const std::string& path) override {
    const Descriptor folder(path, O_RDONLY | O_DIRECTORY, "sync the folder");
    // EINVAL: a file system that has no such notion.
    if (::fsync(folder.number()) != 0 && errno != EINVAL) fail_with_errno("sync the folder", path);
  }

  FileLockAttempt try_lock(const std::string& path, std::string_view holder) override {
    return internal::posix_try_lock(path, holder);
  }
};

}  // namespace

FileSystem& posix_file_system() {
  static PosixFileSystem files;
  return files;
}

}  // namespace belfry
