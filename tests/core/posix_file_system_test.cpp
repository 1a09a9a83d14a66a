#include <filesystem>

#include "core/error.h"
#include "core/file_system.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"

using namespace belfry;
using belfry::testing::TemporaryDirectory;
using Catch::Contains;

namespace {

void write(const std::string& path, std::string_view bytes) {
  const auto file = posix_file_system().create(path);
  file->append(bytes);
  file->close();
}

ErrorKind kind_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.kind();
  }
  return ErrorKind::kInternal;
}

}  // namespace

TEST_CASE("a file is written, appended to, and read at any place", "[core]") {
  TemporaryDirectory folder;
  FileSystem& files = posix_file_system();
  const std::string path = folder.file("a");
  write(path, "0123456789");
  {
    const auto file = files.open_for_append(path);
    file->append("ab");
    file->flush();
    CHECK(files.open(path)->size() == 12);
    file->append("c");
  }  // without close(): what was written is there
  CHECK(read_file(files, path) == "0123456789abc");
  std::string middle(4, ' ');
  files.open(path)->read(8, 4, middle.data());
  CHECK(middle == "89ab");
  write(path, "new");
  CHECK(read_file(files, path) == "new");
}

TEST_CASE("large and small appends keep their order", "[core]") {
  TemporaryDirectory folder;
  const std::string path = folder.file("a");
  std::string expected;
  const auto file = posix_file_system().create(path);
  for (const size_t size : {10, 65000, 1000, 300000, 1}) {
    const std::string bytes(size, static_cast<char>('a' + size % 26));
    file->append(bytes);
    expected += bytes;
  }
  file->sync();
  file->close();
  CHECK(read_file(posix_file_system(), path) == expected);
}

TEST_CASE("folders are made, listed in order, and removed", "[core]") {
  TemporaryDirectory folder;
  FileSystem& files = posix_file_system();
  files.make_directories(folder.file("x/y"));
  files.make_directories(folder.file("x/y"));
  write(folder.file("x/b"), "");
  write(folder.file("x/a"), "");
  CHECK(files.list(folder.file("x")) == std::vector<std::string>{"a", "b", "y"});
  CHECK(files.is_directory(folder.file("x/y")));
  CHECK_FALSE(files.is_directory(folder.file("x/a")));
  CHECK_FALSE(files.is_directory(folder.file("x/none")));
  CHECK_FALSE(files.exists(folder.file("x/a/below a file")));
  files.rename(folder.file("x/a"), folder.file("x/b"));
  files.remove_file(folder.file("x/a"));
  files.sync_directory(folder.file("x"));
  CHECK(files.list(folder.file("x")) == std::vector<std::string>{"b", "y"});
  files.remove_all(folder.file("x"));
  files.remove_all(folder.file("x"));
  CHECK_FALSE(files.exists(folder.file("x")));
}

TEST_CASE("errors of files name the path and have the system's words", "[core]") {
  TemporaryDirectory folder;
  FileSystem& files = posix_file_system();
  const std::string none = folder.file("none");
  const std::string file = folder.file("file");
  write(file, "123");
  CHECK_THROWS_WITH(files.open(none), Contains(none) && Contains("No such file or directory"));
  CHECK(kind_of([&] { files.open(none); }) == ErrorKind::kNotFound);
  CHECK(kind_of([&] { files.list(none); }) == ErrorKind::kNotFound);
  CHECK(kind_of([&] { files.rename(none, file); }) == ErrorKind::kNotFound);
  CHECK(kind_of([&] { files.create(folder.file("none/a")); }) == ErrorKind::kNotFound);
  CHECK(kind_of([&] { files.open(folder.path()); }) == ErrorKind::kIo);
  CHECK(kind_of([&] { files.create(folder.path()); }) == ErrorKind::kIo);
  CHECK_THROWS_WITH(files.make_directories(file), Contains(file) && Contains("Not a directory"));
  char bytes[8];
  CHECK_THROWS_WITH(files.open(file)->read(1, 5, bytes), Contains(file) && Contains("1 to 6") && Contains("has 3"));
  CHECK(kind_of([&] { files.open(file)->read(1, 5, bytes); }) == ErrorKind::kDataLoss);
}

TEST_CASE("a full device is told, and the file is not written to any more", "[core]") {
  if (!posix_file_system().exists("/dev/full")) return;
  const auto file = posix_file_system().open_for_append("/dev/full");
  file->append("a");
  CHECK_THROWS_WITH(file->flush(), Contains("/dev/full") && Contains("No space left on device"));
  CHECK_THROWS_WITH(file->append("b"), Contains("earlier write"));
}
