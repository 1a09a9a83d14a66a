#include <filesystem>
#include <fstream>

#include "core/file_system.h"
#include "tests/data/support.h"
#include "tests/support/check_fails.h"
#include "tests/support/fault_injecting_file_system.h"
#include "tests/support/temporary_directory.h"

using namespace belfry;
using namespace belfry::testing;

namespace {

using Lines = std::vector<std::string>;

std::string write(const TemporaryDirectory& folder, const std::string& name, const std::string& content) {
  std::ofstream(folder.file(name), std::ios::binary) << content;
  return folder.file(name);
}

Lines read_lines(DatasetIterator& iterator, size_t limit = 1000000) {
  Lines lines;
  while (lines.size() < limit) {
    const std::optional<Batch> element = iterator.next();
    if (!element) break;
    const StringTensor& text = element->features.only().strings();
    lines.insert(lines.end(), text.begin(), text.end());
  }
  return lines;
}

Lines lines_of(const Dataset& data) {
  DatasetIterator iterator = data.iterate();
  return read_lines(iterator);
}

Lines lines_of(const TemporaryDirectory& folder, const std::string& content) {
  return lines_of(Dataset::from_text_lines(write(folder, "lines.txt", content)));
}

// a0, a1 … of so many lines each.
std::vector<std::string> write_files(const TemporaryDirectory& folder, const std::vector<int>& counts) {
  std::vector<std::string> paths;
  for (const int count : counts) {
    const std::string name(1, static_cast<char>('a' + static_cast<int>(paths.size())));
    std::string content;
    for (int i = 0; i < count; ++i) content += name + std::to_string(i) + "\n";
    paths.push_back(write(folder, name + ".txt", content));
  }
  return paths;
}

}  // namespace

TEST_CASE("each line of a text file is a string", "[data][S10]") {
  const TemporaryDirectory folder;
  const Dataset data = Dataset::from_text_lines(write(folder, "a.txt", "one\ntwo\n"));
  DatasetIterator iterator = data.iterate();
  const std::optional<Batch> element = iterator.next();
  REQUIRE(element);
  CHECK(element->labels.empty());
  CHECK(element->features.names() == std::vector<std::string>{""});
  CHECK(element->features.only().strings() == StringTensor({"one"}, std::vector<int64_t>{}));
  CHECK(data.cardinality() == kUnknownCardinality);
  CHECK_FALSE(data.batched());
  CHECK(data.batch(3).iterate().next()->features.only().strings() == StringTensor({"one", "two"}));
}

TEST_CASE("lines end in LF, CRLF or with the file", "[data]") {
  const TemporaryDirectory folder;
  CHECK(lines_of(folder, "a\r\nb\nc") == Lines{"a", "b", "c"});
  CHECK(lines_of(folder, "a\r\nb\r\n") == Lines{"a", "b"});
  CHECK(lines_of(folder, "a\n\n\r\nb\r") == Lines{"a", "", "", "b"});
  CHECK(lines_of(folder, "a\rb\r\r\n") == Lines{"a\rb\r"});
  CHECK(lines_of(folder, std::string("a\0b\n", 4)) == Lines{std::string("a\0b", 3)});
  CHECK(lines_of(folder, "\n") == Lines{""});
  CHECK(lines_of(folder, "").empty());
}

TEST_CASE("lines go across the reader's buffer", "[data]") {
  const TemporaryDirectory folder;
  for (const size_t length : {65534, 65535, 65536, 65537, 200000}) {
    const std::string line(length, 'x');
    CHECK(lines_of(folder, line + "\r\n" + line + "\nlast") == Lines{line, line, "last"});
  }
}

TEST_CASE("text files follow one another", "[data]") {
  const TemporaryDirectory folder;
  const std::string a = write(folder, "a.txt", "1\n2");
  const std::string b = write(folder, "b.txt", "");
  const std::string c = write(folder, "c.txt", "3\n");
  CHECK(lines_of(Dataset::from_text_lines({a, b, c})) == Lines{"1", "2", "3"});
  CHECK(lines_of(Dataset::from_text_lines({c, a}).repeat(2)) == Lines{"3", "1", "2", "3", "1", "2"});
  CHECK(lines_of(Dataset::from_text_lines({b, b})).empty());
}

TEST_CASE("text files can be read by turns", "[data]") {
  const TemporaryDirectory folder;
  const std::vector<std::string> paths = write_files(folder, {1, 3, 0, 2, 1});
  const auto lines = [&](int64_t cycle_length) {
    return lines_of(Dataset::from_text_lines(paths, {.cycle_length = cycle_length}));
  };
  CHECK(lines(1) == Lines{"a0", "b0", "b1", "b2", "d0", "d1", "e0"});
  CHECK(lines(2) == Lines{"a0", "b0", "b1", "b2", "d0", "d1", "e0"});
  CHECK(lines(5) == Lines{"a0", "b0", "d0", "e0", "b1", "d1", "b2"});
  CHECK(lines(99) == lines(5));
}

TEST_CASE("a reading of text is restored wherever it is cut", "[data]") {
  const TemporaryDirectory folder;
  const std::vector<std::string> paths = write_files(folder, {3, 5, 0, 2});
  for (const int64_t cycle_length : {1, 2, 4}) {
    const Dataset lines = Dataset::from_text_lines(paths, {.cycle_length = cycle_length});
    for (const Dataset& data : {lines, lines.repeat(2), lines.shuffle({.buffer_size = 4, .seed = 1}).prefetch(2)}) {
      const Lines whole = lines_of(data);
      CHECK(whole.size() % 10 == 0);
      for (size_t cut = 0; cut <= whole.size(); ++cut) {
        DatasetIterator first = data.iterate();
        read_lines(first, cut);
        DatasetIterator second = data.iterate();
        read_lines(second, 4);
        second.restore(first.position());
        CHECK(second.position() == first.position());
        CHECK(read_lines(second) == Lines(whole.begin() + static_cast<std::ptrdiff_t>(cut), whole.end()));
      }
    }
  }
}

TEST_CASE("a restored reading of text reads nothing that lies before", "[data]") {
  const TemporaryDirectory folder;
  std::string content;
  for (int i = 0; i < 100000; ++i) content += "line " + std::to_string(i) + "\n";
  const std::string path = write(folder, "big.txt", content);
  FaultInjectingFileSystem files(posix_file_system());
  const Dataset data = Dataset::from_text_lines(path, {.file_system = &files});
  DatasetIterator first = data.iterate();
  read_lines(first, 99000);
  const std::string position = first.position();
  const int64_t before = files.operations();
  DatasetIterator second = data.iterate();
  second.restore(position);
  CHECK(read_lines(second, 1) == Lines{"line 99000"});
  CHECK(files.operations() - before <= 3);  // open, size, one buffer
}

TEST_CASE("the description of text names files, sizes and content", "[data]") {
  const TemporaryDirectory folder;
  const std::string a = write(folder, "a.txt", "1\n2\n");
  const Dataset data = Dataset::from_text_lines(a);
  CHECK_THAT(data.describe(), Catch::StartsWith("text_lines['a.txt' 4 bytes "));
  const Dataset by_turns = Dataset::from_text_lines({a, a}, {.cycle_length = 2});
  CHECK_THAT(by_turns.describe(), Catch::Contains("cycle_length 2"));
  write(folder, "a.txt", "1\n3\n");
  CHECK(Dataset::from_text_lines(a).fingerprint() != data.fingerprint());
}

TEST_CASE("text is sharded by file", "[data][S10]") {
  const TemporaryDirectory folder;
  const Dataset data = Dataset::from_text_lines(write_files(folder, {1, 2, 3}));
  CHECK(lines_of(data.auto_shard(2, 0)) == Lines{"a0", "c0", "c1", "c2"});
  CHECK(lines_of(data.auto_shard(2, 1)) == Lines{"b0", "b1"});
  CHECK_FAILS(data.auto_shard(4, 1), ErrorKind::kInvalidArgument, "3 files for 4 workers");
}

TEST_CASE("text files that cannot be read are errors with their path", "[data]") {
  const TemporaryDirectory folder;
  const std::string there = write(folder, "there.txt", "1\n");
  CHECK_FAILS(Dataset::from_text_lines({there, folder.file("absent.txt")}), ErrorKind::kNotFound, "absent.txt");
  CHECK_FAILS(Dataset::from_text_lines(folder.path()), ErrorKind::kIo, folder.path());
  CHECK_FAILS(Dataset::from_text_lines(std::vector<std::string>()), ErrorKind::kInvalidArgument, "no path");
  CHECK_FAILS(Dataset::from_text_lines(there, {.cycle_length = 0}), ErrorKind::kInvalidArgument, "cycle_length is 0");

  FaultInjectingFileSystem files(posix_file_system());
  files.inject({.kind = FileOperation::kOpen});
  CHECK_FAILS(Dataset::from_text_lines(there, {.file_system = &files}), ErrorKind::kIo, "there.txt");
}

TEST_CASE("a text file that changes or fails under a reading is an error", "[data]") {
  const TemporaryDirectory folder;
  const std::string path = write(folder, "a.txt", "1\n2\n");
  FaultInjectingFileSystem files(posix_file_system());
  const Dataset data = Dataset::from_text_lines(path, {.file_system = &files});
  files.inject({.kind = FileOperation::kRead});
  DatasetIterator failing = data.iterate();
  CHECK_FAILS(failing.next(), ErrorKind::kIo, "a.txt");
  CHECK_FAILS(failing.next(), ErrorKind::kIo, "a.txt");

  files.revive();
  write(folder, "a.txt", "1\n2\n3\n");
  CHECK_FAILS(data.iterate().next(), ErrorKind::kFailedPrecondition, "it had 4 bytes");
  std::filesystem::remove(path);
  CHECK_FAILS(data.iterate().next(), ErrorKind::kNotFound, "a.txt");
}
