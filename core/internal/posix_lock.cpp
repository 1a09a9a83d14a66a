#include "core/internal/posix_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/log.h"

namespace belfry::internal {
namespace {

[[noreturn]] void fail_with_errno(const std::string& path) {
  const std::error_code code(errno, std::generic_category());
  const bool unknown = code == std::errc::not_supported || code == std::errc::function_not_supported ||
                       code == std::errc::no_lock_available || code == std::errc::invalid_argument;
  const bool absent = code == std::errc::no_such_file_or_directory || code == std::errc::not_a_directory;
  fail(unknown  ? ErrorKind::kUnimplemented
       : absent ? ErrorKind::kNotFound
                : ErrorKind::kIo,
       "cannot lock '", path, "': ", code.message());
}

// An open file that may hold the lock.
class PosixLock : public FileLock {
 public:
  explicit PosixLock(std::string path)
      : path_(std::move(path)), number_(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (number_ < 0) fail_with_errno(path_);
  }
  // Removed while it is locked: who has opened the same file sees that it is at the path no more. Unlocked by name, as
  // a child that was forked meanwhile has the file open still.
  ~PosixLock() override {
    if (locked_) {
      ::unlink(path_.c_str());
      ::flock(number_, LOCK_UN);
    }
    ::close(number_);
  }
  PosixLock(const PosixLock&) = delete;
  PosixLock& operator=(const PosixLock&) = delete;

  // False when somebody else has it.
  bool take() {
    int result = 0;
    do {
      result = ::flock(number_, LOCK_EX | LOCK_NB);
    } while (result != 0 && errno == EINTR);
    if (result != 0 && errno != EWOULDBLOCK) fail_with_errno(path_);
    return result == 0;
  }

  // Whether the file is still the one at the path: another may have removed it before this one got the lock.
  bool is_at_path() const {
    struct stat mine = {}, there = {};
    return ::fstat(number_, &mine) == 0 && ::stat(path_.c_str(), &there) == 0 && mine.st_dev == there.st_dev &&
           mine.st_ino == there.st_ino;
  }

  // On a full disk the lock is good without its holder's name.
  void sign(std::string_view holder) {
    locked_ = true;
    const bool written = ::ftruncate(number_, 0) == 0 &&
                         ::pwrite(number_, holder.data(), holder.size(), 0) == static_cast<ssize_t>(holder.size());
    if (!written) log_warning("the name of its holder cannot be written into '", path_, "'");
  }

  std::string holder() const {
    std::string text(256, '\0');
    const ssize_t length = ::pread(number_, text.data(), text.size(), 0);
    text.resize(length > 0 ? static_cast<size_t>(length) : 0);
    return text;
  }

 private:
  std::string path_;
  int number_;
  bool locked_ = false;
};

}  // namespace

FileLockAttempt posix_try_lock(const std::string& path, std::string_view holder) {
  while (true) {
    auto lock = std::make_unique<PosixLock>(path);
    if (!lock->take()) return {nullptr, lock->holder()};
    if (!lock->is_at_path()) continue;
    lock->sign(holder);
    return {std::move(lock), std::string(holder)};
  }
}

}  // namespace belfry::internal
