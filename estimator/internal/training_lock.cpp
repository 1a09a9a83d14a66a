#include "estimator/internal/training_lock.h"

#include <unistd.h>

#include "core/error.h"
#include "core/log.h"

namespace belfry::internal {
namespace {

// The same number may be another process on another machine, and directories are shared.
std::string this_process() {
  std::string host(256, '\0');
  if (::gethostname(host.data(), host.size() - 1) != 0) host = "an unknown machine";
  return concat("process ", ::getpid(), " on ", host.c_str());
}

}  // namespace

TrainingLock::TrainingLock(FileSystem& files, const std::string& directory) {
  const std::string path = join_path(directory, "training.lock");
  const std::string self = this_process();
  FileLockAttempt attempt;
  try {
    attempt = files.try_lock(path, self);
  } catch (const Error& error) {
    log_warning("train: ", error.what(), ". Nothing keeps another process from training in ", directory, " too");
    return;
  }
  lock_ = std::move(attempt.lock);
  if (lock_) return;
  const std::string holder = attempt.holder.empty() ? "another process" : attempt.holder;
  fail(ErrorKind::kFailedPrecondition, "train: ", holder, holder == self ? ", this one," : "", " is training in ",
       directory, " (it has ", path, " locked), and two at once would spoil each other's checkpoints. Wait for its ",
       "end, or give another model_dir");
}

}  // namespace belfry::internal
