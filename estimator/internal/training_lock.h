// Who trains in a model directory.
#pragma once

#include <memory>
#include <string>

#include "core/file_system.h"

namespace belfry::internal {

// Keeps a model directory, which has to be there, from two trainings at once, in one process or several, while it
// lives: they would go on from each other's checkpoints and remove them. Given up by a process that is killed, too.
// kFailedPrecondition, naming directory and process, when another training has it. Where no lock can be had, since the
// file system knows none or the directory cannot be written, a warning says so and nothing is kept.
class TrainingLock {
 public:
  TrainingLock(FileSystem& files, const std::string& directory);

 private:
  std::unique_ptr<FileLock> lock_;
};

}  // namespace belfry::internal
