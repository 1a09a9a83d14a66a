// A file system that fails, fills up, dies and forgets what was not synced.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/file_system.h"

namespace belfry::testing {

enum class FileOperation {
  kCreate,
  kOpenForAppend,
  kAppend,
  kFlush,
  kSync,
  kClose,
  kOpen,
  kRead,
  kExamine,  // exists, is_directory, list
  kMakeDirectories,
  kRename,
  kRemove,
  kSyncDirectory,
};

// Which operation fails with kIo. An append that fails writes half of its bytes first.
struct Fault {
  int64_t at = 0;                          // counted from 0 among the operations that match, from now on
  std::optional<FileOperation> kind = {};  // none: of any kind
  std::string path_part = {};              // only paths that contain it
  bool process_dies = false;               // every operation after it fails too, until revive()
};

// Passes all but the syncs on to another file system, which it does not own. Threads may share it. Files opened before
// crash() must not be used after it.
class FaultInjectingFileSystem : public FileSystem {
 public:
  explicit FaultInjectingFileSystem(FileSystem& inner) : inner_(inner) {}

  void inject(Fault fault);
  // Whether the injected fault came to pass.
  bool fault_happened() const;
  // Whatever would make, change or remove something fails with kIo, as in a folder without permission.
  void forbid_writing();
  // No fault any more, no limit of space, no prohibition.
  void revive();
  // Appends beyond so many bytes in all fail with kIo, having written what fits.
  void limit_space(uint64_t bytes);
  // Operations since the making of this object, failed ones included.
  int64_t operations() const;

  // A power cut: every file ends where it was last synced, and of the creations, renames and removals since the last
  // sync_directory of their folder the first `surviving` stay and the others never happened. Ends with revive().
  void crash(size_t surviving = 0);
  // Creations, renames and removals that a crash could undo now.
  size_t unsynced_directory_entries() const;

  std::unique_ptr<WritableFile> create(const std::string& path) override;
  std::unique_ptr<WritableFile> open_for_append(const std::string& path) override;
  std::unique_ptr<RandomAccessFile> open(const std::string& path) override;
  bool exists(const std::string& path) override;
  bool is_directory(const std::string& path) override;
  std::vector<std::string> list(const std::string& directory) override;
  void make_directories(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  void remove_file(const std::string& path) override;
  void remove_all(const std::string& path) override;
  void sync_directory(const std::string& path) override;
  // Not one of the operations that fail.
  FileLockAttempt try_lock(const std::string& path, std::string_view holder) override {
    return inner_.try_lock(path, holder);
  }

 private:
  friend class FaultInjectingWritableFile;
  friend class FaultInjectingRandomAccessFile;

  struct Change {
    std::string folder;
    std::function<void()> undo;
  };

  void step(FileOperation kind, const std::string& path);
  uint64_t take_space(uint64_t bytes);
  void mark_synced(const std::string& path, uint64_t size);
  void remember(const std::string& path, std::function<void()> undo);
  std::optional<std::string> content(const std::string& path);
  void restore(const std::string& path, const std::optional<std::string>& bytes);

  FileSystem& inner_;
  mutable std::recursive_mutex mutex_;
  std::optional<Fault> fault_;
  int64_t matched_ = 0;
  int64_t operations_ = 0;
  bool happened_ = false;
  bool dead_ = false;
  bool read_only_ = false;
  uint64_t space_ = std::numeric_limits<uint64_t>::max();
  std::map<std::string, uint64_t> synced_sizes_;  // of files written since the last crash
  std::vector<Change> changes_;                   // not yet on the disk
};

}  // namespace belfry::testing
