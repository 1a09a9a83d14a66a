#include "core/file_system.h"

#include "core/error.h"
#include "tests/support/fault_injecting_file_system.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"

using namespace belfry;
using belfry::testing::FaultInjectingFileSystem;
using belfry::testing::FileOperation;
using belfry::testing::TemporaryDirectory;

TEST_CASE("paths are joined by one slash", "[core]") {
  CHECK(join_path("a", "b") == "a/b");
  CHECK(join_path("a/", "b") == "a/b");
  CHECK(join_path("", "b") == "b");
  CHECK(join_path("a", "/b") == "/b");
}

TEST_CASE("an atomic write that fails anywhere leaves the old content and no other file", "[core]") {
  TemporaryDirectory folder;
  FaultInjectingFileSystem files(posix_file_system());
  const std::string path = folder.file("state");
  write_file_atomically(files, path, "old");
  int64_t failures = 0;
  for (int64_t at = 0;; ++at) {
    files.inject({.at = at});
    try {
      write_file_atomically(files, path, "new content");
      break;
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kIo);
      CHECK(files.list(folder.path()) == std::vector<std::string>{"state"});
      const std::string expected = at < 5 ? "old" : "new content";  // the last operation syncs the folder
      CHECK(read_file(files, path) == expected);
      ++failures;
    }
  }
  files.revive();
  CHECK(failures == 6);
  CHECK(read_file(files, path) == "new content");
}

TEST_CASE("an atomic write survives a power cut at any moment", "[core]") {
  TemporaryDirectory folder;
  FaultInjectingFileSystem files(posix_file_system());
  const std::string path = folder.file("state");
  bool done = false;
  for (int64_t at = 0; !done; ++at) {
    for (const bool entries_survive : {false, true}) {
      write_file_atomically(files, path, "old");
      files.inject({.at = at, .process_dies = true});
      try {
        write_file_atomically(files, path, "new");
        done = true;
      } catch (const Error&) {
      }
      files.crash(entries_survive ? files.unsynced_directory_entries() : 0);
      const std::string content = read_file(files, path);
      CHECK((content == "new" || (!done && content == "old")));
    }
  }
}

TEST_CASE("a full disk leaves the old content", "[core]") {
  TemporaryDirectory folder;
  FaultInjectingFileSystem files(posix_file_system());
  const std::string path = folder.file("state");
  write_file_atomically(files, path, "old");
  files.limit_space(4);
  CHECK_THROWS_WITH(write_file_atomically(files, path, "much too long"), Catch::Contains("No space left"));
  CHECK(read_file(files, path) == "old");
}
