// Locks of the machine's own file system.
#pragma once

#include <string>
#include <string_view>

#include "core/file_system.h"

namespace belfry::internal {

// FileSystem::try_lock by flock(2): the system gives the lock up when the process ends, even by SIGKILL, and two
// holders in one process exclude each other too. kUnimplemented where the file system knows no such locks.
FileLockAttempt posix_try_lock(const std::string& path, std::string_view holder);

}  // namespace belfry::internal
