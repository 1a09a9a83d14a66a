#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is not in <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "core/file_system.h"
#include "tests/support/check_fails.h"
#include "tests/support/fault_injecting_file_system.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"

using namespace belfry;
using belfry::testing::TemporaryDirectory;

namespace {

class WithoutLocks : public testing::FaultInjectingFileSystem {
 public:
  using FaultInjectingFileSystem::FaultInjectingFileSystem;
  FileLockAttempt try_lock(const std::string& path, std::string_view holder) override {
    return FileSystem::try_lock(path, holder);
  }
};

}  // namespace

TEST_CASE("a lock has one holder at a time, who is known to others", "[core][lock]") {
  const TemporaryDirectory dir;
  FileSystem& files = posix_file_system();
  FileLockAttempt first = files.try_lock(dir.file("lock"), "the first, who has a long name");
  REQUIRE(first.lock);
  const FileLockAttempt second = files.try_lock(dir.file("lock"), "second");
  CHECK_FALSE(second.lock);
  CHECK(second.holder == "the first, who has a long name");
  CHECK(files.try_lock(dir.file("other lock"), "second").lock);
  first.lock.reset();
  CHECK(files.list(dir.path()).empty());
  const FileLockAttempt third = files.try_lock(dir.file("lock"), "third");
  CHECK(third.lock);
  CHECK(files.try_lock(dir.file("lock"), "fourth").holder == "third");
}

TEST_CASE("a lock file that is left over locks nothing", "[core][lock]") {
  const TemporaryDirectory dir;
  posix_file_system().create(dir.file("lock"))->append("a process that was killed");
  const FileLockAttempt lock = posix_file_system().try_lock(dir.file("lock"), "me");
  REQUIRE(lock.lock);
  CHECK(read_file(posix_file_system(), dir.file("lock")) == "me");
}

TEST_CASE("locks that cannot be are refused by name", "[core][lock]") {
  const TemporaryDirectory dir;
  CHECK_FAILS(posix_file_system().try_lock(dir.file("absent/lock"), "me"), ErrorKind::kNotFound, "absent/lock");
  CHECK_FAILS(posix_file_system().try_lock(dir.path(), "me"), ErrorKind::kIo, dir.path());
  WithoutLocks files(posix_file_system());
  CHECK_FAILS(files.try_lock(dir.file("lock"), "me"), ErrorKind::kUnimplemented, "has no locks");
}

TEST_CASE("a lock that is given up is free though a forked child lives", "[core][lock]") {
  const TemporaryDirectory dir;
  FileLockAttempt lock = posix_file_system().try_lock(dir.file("lock"), "parent");
  REQUIRE(lock.lock);
  const pid_t child = ::fork();
  if (child == 0) {
    while (true) ::pause();
  }
  REQUIRE(child > 0);
  lock.lock.reset();
  const bool is_free = posix_file_system().try_lock(dir.file("lock"), "again").lock != nullptr;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(is_free);
}

TEST_CASE("threads that take turns at a lock are never in it together", "[core][lock]") {
  const TemporaryDirectory dir;
  std::atomic<int> inside{0}, together{0}, taken{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 100;) {
        const FileLockAttempt attempt = posix_file_system().try_lock(dir.file("lock"), "a thread");
        if (!attempt.lock) {
          std::this_thread::yield();
          continue;
        }
        if (inside.fetch_add(1) != 0) ++together;
        ++taken;
        --inside;
        ++turn;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(taken == 400);
  CHECK(together == 0);
}
