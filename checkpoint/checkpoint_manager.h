// The checkpoints of a model directory: saving, choosing the one to go on from, and removing old ones.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "../core/file_system.h"
#include "checkpoint_entry.h"
#include "checkpoint_state.h"

namespace belfry {

struct CheckpointManagerOptions {
  // So many of the newest stay; 0 keeps all.
  int64_t keep_checkpoint_max = 5;
  // One in so many hours is never removed. By TensorFlow's default that is none in practice.
  double keep_checkpoint_every_n_hours = 10000;
  // Seconds since 1970; the system's clock when empty.
  std::function<double()> clock = {};
};

struct SkippedCheckpoint {
  std::string path;    // the prefix, or the file `checkpoint` itself
  std::string reason;  // the words of the error
};

struct LatestCheckpoint {
  std::optional<std::string> prefix;       // none when no checkpoint can be read
  std::vector<SkippedCheckpoint> skipped;  // those that would have come before it, and why they do not
};

// The step in model.ckpt-STEP; nothing when the prefix does not end so.
std::optional<int64_t> checkpoint_step(const std::string& prefix);

// One model directory, which one process at a time may save into and any number may read. Picks up a directory that
// tf.estimator wrote, and leaves one that it picks up. Used by one thread. The directory is made at the first save.
//
// A process that is killed, or a machine that loses power, at any moment of save() leaves a directory whose latest() is
// the checkpoint before or the new one, with its true values.
class CheckpointManager {
 public:
  // kInvalidArgument, with the value, for options that are negative. `files` must outlive this.
  explicit CheckpointManager(std::string directory, CheckpointManagerOptions options = {},
                             FileSystem& files = posix_file_system());

  const std::string& directory() const { return directory_; }

  // Writes DIRECTORY/model.ckpt-STEP, then the file `checkpoint`, then removes what is beyond keep_checkpoint_max and
  // what an earlier save left behind when it was killed. Gives back the prefix. A step that is there already is
  // replaced. kInvalidArgument for a negative step; else as CheckpointWriter::add. When it throws, latest() is as
  // before, or the new checkpoint when only the removal of an old one failed; saving again goes on from there.
  std::string save(int64_t step, const CheckpointEntries& entries);

  // The checkpoint that the file `checkpoint` names, if all of it can be read and its checksums hold; else the next
  // older that can, named there or found in the folder. Reads the whole checkpoint: `verify_checksums` false compares
  // only the index and the sizes of the files, which finds what is missing or truncated. kIo when the system cannot
  // read one now (too many open files, no permission), which says nothing of the checkpoint. Another process may save
  // meanwhile.
  LatestCheckpoint latest(bool verify_checksums = true) const;

  // Prefixes, oldest first: those that the file `checkpoint` names and whose index is there, and, when it cannot be
  // read or is not there, those found in the folder.
  std::vector<std::string> all() const;

 private:
  std::vector<std::string> candidates(std::vector<SkippedCheckpoint>& skipped) const;
  CheckpointState current_state() const;
  std::vector<std::string> retire(CheckpointState& state) const;
  double now() const;

  std::string directory_;
  CheckpointManagerOptions options_;
  FileSystem& files_;
  std::vector<std::string> to_remove_;  // a removal that failed is tried again
};

}  // namespace belfry
