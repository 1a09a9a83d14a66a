// Which files of a model directory belong to checkpoints.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_state.h"
#include "core/file_system.h"

namespace belfry {

// Before the step in the name of a checkpoint.
inline constexpr const char* kCheckpointBase = "model.ckpt-";

// The prefixes of all model.ckpt-STEP.index, by step; none when there is no such folder.
std::vector<std::string> checkpoints_in_folder(FileSystem& files, const std::string& directory);

// Nothing, too, when the file `checkpoint` is damaged.
std::optional<CheckpointState> read_state_or_nothing(FileSystem& files, const std::string& directory);

// The index first, so that what is left of a removal that was killed is no checkpoint; then the data and TensorFlow's
// graph (.meta).
void remove_checkpoint_files(FileSystem& files, const std::string& prefix);

// What a save or a removal that was killed left: temporary files, and data without an index.
void remove_leftover_files(FileSystem& files, const std::string& directory);

}  // namespace belfry
