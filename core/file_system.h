// Every file operation of Belfry goes through this interface, so that tests can fail, truncate and delay any of them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace belfry {

// A file being written from its start. Used by one thread. Destruction without close() leaves what was written so far;
// only a file that was synced, closed and renamed counts (see write_file_atomically).
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  virtual void append(std::string_view bytes) = 0;
  virtual void flush() = 0;  // to the operating system: survives a kill of this process, not a power cut
  virtual void sync() = 0;   // to the disk
  virtual void close() = 0;
};

// A file for reading at any place. Threads may share it.
class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;
  virtual uint64_t size() const = 0;
  // Exactly `length` bytes; kDataLoss, with path and both numbers, when the file ends before.
  virtual void read(uint64_t offset, uint64_t length, char* to) const = 0;
};

// A lock on a file. Given up at destruction, or when the process ends, however it ends.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

struct FileLockAttempt {
  std::unique_ptr<FileLock> lock;  // null when somebody else has it
  std::string holder;              // what who has it said of himself
};

// All calls throw Error with the path and the system's words: kNotFound for what is not there, otherwise kIo. Threads
// may share one object.
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual std::unique_ptr<WritableFile> create(const std::string& path) = 0;  // replaces what is there
  virtual std::unique_ptr<WritableFile> open_for_append(const std::string& path) = 0;
  virtual std::unique_ptr<RandomAccessFile> open(const std::string& path) = 0;
  virtual bool exists(const std::string& path) = 0;
  virtual bool is_directory(const std::string& path) = 0;
  // Names, not paths, sorted; without "." and "..".
  virtual std::vector<std::string> list(const std::string& directory) = 0;
  virtual void make_directories(const std::string& path) = 0;               // and its parents; not an error when there
  virtual void rename(const std::string& from, const std::string& to) = 0;  // atomic, replaces a file
  virtual void remove_file(const std::string& path) = 0;                    // not an error when absent
  virtual void remove_all(const std::string& path) = 0;                     // a whole folder; not an error when absent
  virtual void sync_directory(const std::string& path) = 0;
  // Locks the file at `path`, against other threads and processes, without waiting. The file is made, has `holder` in
  // it while it is locked, and is removed when the lock is given up. kUnimplemented where there are no locks.
  virtual FileLockAttempt try_lock(const std::string& path, std::string_view holder);
};

// The machine's own. Lives as long as the process. Its WritableFile gathers up to 64 KiB before it writes; one that is
// destroyed without close() has its gathered bytes written, and an error of that is lost.
FileSystem& posix_file_system();

// The whole file. kNotFound when there is none.
std::string read_file(FileSystem& files, const std::string& path);
// Under a temporary name in the same folder, synced, renamed, folder synced: `path` has its old or its new content,
// whenever the process or the machine dies. The temporary file is removed when this throws.
void write_file_atomically(FileSystem& files, const std::string& path, std::string_view bytes);

// `path` with ".tmp-", this process's number and a count behind it: no two calls on one machine give the same. Where a
// file is written before it is renamed to `path`.
std::string temporary_path(const std::string& path);

// Joined by one slash; `name` alone when it is absolute or the folder is empty.
std::string join_path(std::string_view folder, std::string_view name);

}  // namespace belfry
