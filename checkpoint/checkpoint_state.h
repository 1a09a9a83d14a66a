// The file `checkpoint` of a model directory, which names the checkpoints in it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "../core/file_system.h"

namespace belfry {

// All paths are prefixes of checkpoints, not names of files.
struct CheckpointState {
  std::string model_checkpoint_path;                    // the newest
  std::vector<std::string> all_model_checkpoint_paths;  // oldest first, the newest included
  // Seconds since 1970, one for each path; TensorFlow may leave them out, and then there are none.
  std::vector<double> all_model_checkpoint_timestamps;
  double last_preserved_timestamp = 0;  // of the newest checkpoint that is kept for ever; 0: of none
};

// Nothing when the folder has no such file. Relative paths come back joined with the folder; an absolute one with no
// checkpoint there, but one of that name in the folder, is taken for one of a folder that was moved. kDataLoss, with
// the path and the line, when the text cannot be understood.
std::optional<CheckpointState> read_checkpoint_state(const std::string& directory,
                                                     FileSystem& files = posix_file_system());

// Atomically. Paths inside the folder are written relative to it, so that it can be moved.
void write_checkpoint_state(const std::string& directory, const CheckpointState& state,
                            FileSystem& files = posix_file_system());

}  // namespace belfry
