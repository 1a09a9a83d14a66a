#include "export/export_directory.h"

#include "tests/support/check_fails.h"
#include "tests/support/fault_injecting_file_system.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"

using namespace belfry;
using belfry::testing::FaultInjectingFileSystem;
using belfry::testing::TemporaryDirectory;

namespace {

using Names = std::vector<std::string>;

// A clock that stands still until it is waited for.
struct Clock {
  int64_t seconds = 1700000000;
  int waits = 0;

  ExportDirectoryOptions options(std::map<std::string, std::string> assets = {}) {
    return {.assets_extra = std::move(assets),
            .now = [this] { return seconds; },
            .wait_for_next_second = [this] { ++seconds, ++waits; }};
  }
};

std::function<void(const std::string&)> writer(FileSystem& files, const std::string& text = "weights") {
  return [&files, text](const std::string& folder) {
    write_export_file(files, join_path(folder, "torchscript/model.pt"), text);
    write_export_file(files, join_path(folder, "note"), text);
  };
}

Names list_or_nothing(const std::string& path) {
  FileSystem& files = posix_file_system();
  return files.exists(path) ? files.list(path) : Names{};
}

}  // namespace

TEST_CASE("An export is a folder named by the second", "[export][E12]") {
  TemporaryDirectory folder;
  FileSystem& files = posix_file_system();
  const std::string base = folder.file("deep/exports");
  const std::string path = export_to_directory(base, files, writer(files), Clock().options());
  CHECK(path == base + "/1700000000");
  CHECK(read_file(files, path + "/torchscript/model.pt") == "weights");
  CHECK(files.list(base) == Names{"1700000000"});
}

TEST_CASE("Without a clock of its own an export takes the machine's", "[export][E12]") {
  TemporaryDirectory folder;
  FileSystem& files = posix_file_system();
  const std::string first = export_to_directory(folder.path(), files, writer(files));
  const std::string second = export_to_directory(folder.path(), files, writer(files));
  const auto seconds = [](const std::string& path) { return std::stoll(path.substr(path.rfind('/') + 1)); };
  CHECK(seconds(first) > 1700000000);
  CHECK(seconds(second) > seconds(first));
}

TEST_CASE("A taken second is left alone and the next one tried", "[export][E12]") {
  TemporaryDirectory folder;
  FileSystem& files = posix_file_system();
  Clock clock;
  for (int i = 0; i < 3; ++i) write_export_file(files, folder.file(concat(clock.seconds + i, "/old")), "old");
  const std::string path = export_to_directory(folder.path(), files, writer(files), clock.options());
  CHECK(path == folder.file("1700000003"));
  CHECK(clock.waits == 3);
  CHECK(files.list(folder.file("1700000000")) == Names{"old"});
}

TEST_CASE("After ten taken seconds the export gives up and leaves nothing", "[export][E12]") {
  TemporaryDirectory folder;
  FileSystem& files = posix_file_system();
  Clock clock;
  for (int i = 0; i < 10; ++i) files.make_directories(folder.file(std::to_string(clock.seconds + i)));
  CHECK_FAILS(export_to_directory(folder.path(), files, writer(files), clock.options()), ErrorKind::kAlreadyExists,
              "10 seconds in a row");
  CHECK(files.list(folder.path()).size() == 10);
}

TEST_CASE("A failing writer's error is passed on and its folder removed", "[export][E12]") {
  TemporaryDirectory folder;
  FileSystem& files = posix_file_system();
  const auto write = [&](const std::string& to) {
    writer(files)(to);
    fail(ErrorKind::kUnimplemented, "no such format");
  };
  CHECK_FAILS(export_to_directory(folder.path(), files, write), ErrorKind::kUnimplemented, "no such format");
  CHECK(files.list(folder.path()).empty());
}

TEST_CASE("No failing operation leaves half an export", "[export][E12]") {
  TemporaryDirectory folder;
  write_file_atomically(posix_file_system(), folder.file("vocabulary"), "a\nb\n");
  const std::string base = folder.file("exports");
  FaultInjectingFileSystem files(posix_file_system());
  int failures = 0;
  for (int64_t at = 0;; ++at) {
    INFO("operation " << at << " fails");
    files.inject({.at = at});
    const auto run = [&] {
      export_to_directory(base, files, writer(files), Clock().options({{"words.txt", folder.file("vocabulary")}}));
    };
    const auto failed = belfry::testing::failure_of(run);
    if (!files.fault_happened()) break;
    files.revive();
    const Names left = list_or_nothing(base);
    if (!failed || left == Names{"1700000000"}) {  // after the rename, or where an absent folder is no error
      CHECK(list_or_nothing(base + "/1700000000") == Names{"assets.extra", "note", "torchscript"});
      posix_file_system().remove_all(base);
      continue;
    }
    ++failures;
    CHECK(left.empty());
  }
  CHECK(failures >= 10);
}

TEST_CASE("A process that dies leaves a whole export or none that a server would see", "[export][E12]") {
  TemporaryDirectory folder;
  FaultInjectingFileSystem files(posix_file_system());
  for (int64_t at = 0;; ++at) {
    INFO("the process dies at operation " << at);
    const std::string base = folder.file(concat("exports", at));
    files.inject({.at = at, .process_dies = true});
    belfry::testing::failure_of([&] { export_to_directory(base, files, writer(files, "whole"), Clock().options()); });
    const bool died = files.fault_happened();
    files.crash(files.unsynced_directory_entries());
    for (const std::string& name : list_or_nothing(base)) {
      if (name.starts_with("temp-")) continue;
      CHECK(read_file(posix_file_system(), base + "/" + name + "/torchscript/model.pt") == "whole");
      CHECK(read_file(posix_file_system(), base + "/" + name + "/note") == "whole");
    }
    if (!died) break;
  }
  CHECK(files.operations() > 10);
}

TEST_CASE("Extra assets are copied below assets.extra", "[export][E72]") {
  TemporaryDirectory folder;
  FileSystem& files = posix_file_system();
  const std::string large(3000000, 'x');
  write_file_atomically(files, folder.file("warmup"), large);
  write_file_atomically(files, folder.file("empty"), "");
  Clock clock;
  const auto options =
      clock.options({{"tf_serving_warmup_requests", folder.file("warmup")}, {"deep/er/empty", folder.file("empty")}});
  const std::string path = export_to_directory(folder.file("exports"), files, writer(files), options);
  CHECK(read_file(files, path + "/assets.extra/tf_serving_warmup_requests") == large);
  CHECK(read_file(files, path + "/assets.extra/deep/er/empty").empty());
}

TEST_CASE("Extra assets that are missing or would lie elsewhere are refused before anything is written",
          "[export][E72]") {
  TemporaryDirectory folder;
  FileSystem& files = posix_file_system();
  write_file_atomically(files, folder.file("there"), "");
  const std::string base = folder.file("exports");
  const auto run = [&](const std::string& to, const std::string& from) {
    export_to_directory(base, files, writer(files), Clock().options({{to, folder.file(from)}}));
  };
  CHECK_FAILS(run("a", "absent"), ErrorKind::kNotFound, "absent");
  for (const char* path : {"", "/a", "../a", "a/../../b", "a//b", "./a", "a/"}) {
    CHECK_FAILS(run(path, "there"), ErrorKind::kInvalidArgument, concat("'", path, "'"));
  }
  CHECK_FALSE(files.exists(base));
}
