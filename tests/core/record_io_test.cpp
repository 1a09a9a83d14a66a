#include "core/record_io.h"

#include "core/error.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"

using namespace belfry;
using belfry::testing::TemporaryDirectory;
using Catch::Contains;

namespace {

const std::vector<std::string> kRecords{"first", "", std::string(1000, 'x'), std::string("\0\1", 2)};

std::string bytes_of(const std::vector<std::string>& records) {
  TemporaryDirectory folder;
  RecordWriter writer(posix_file_system().create(folder.file("records")));
  for (const std::string& record : records) writer.write(record);
  writer.close();
  return read_file(posix_file_system(), folder.file("records"));
}

// All records until the end or an error, whose text is put last.
std::vector<std::string> read_all(const std::string& bytes, RecordReaderOptions options = {}) {
  TemporaryDirectory folder;
  const std::string path = folder.file("records");
  write_file_atomically(posix_file_system(), path, bytes);
  RecordReader reader(posix_file_system(), path, options);
  std::vector<std::string> records;
  try {
    for (std::string record; reader.next(record);) records.push_back(record);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kDataLoss);
    CHECK_THAT(error.what(), Contains(path));
    records.push_back(error.what());
  }
  return records;
}

}  // namespace

TEST_CASE("a record is framed as TensorFlow does", "[core]") {
  // As tf.io.TFRecordWriter of TensorFlow 2.15 wrote it.
  const std::string expected("\x03\0\0\0\0\0\0\0\xb0\x99\x49\x0e\x61\x62\x63\x6e\x57\xf1\x21", 19);
  CHECK(bytes_of({"abc"}) == expected);
}

TEST_CASE("records come back in order, whatever the buffer", "[core]") {
  const uint64_t size = GENERATE(1, 13, 64, 1 << 20);
  CHECK(read_all(bytes_of(kRecords), {.buffer_size = size}) == kRecords);
  CHECK(read_all("").empty());
}

TEST_CASE("a reader goes back to a place it was at", "[core]") {
  TemporaryDirectory folder;
  write_file_atomically(posix_file_system(), folder.file("r"), bytes_of(kRecords));
  RecordReader reader(posix_file_system(), folder.file("r"));
  std::string record;
  CHECK(reader.next(record));
  CHECK(reader.offset() == 21);
  CHECK(reader.next(record));
  CHECK(reader.next(record));
  reader.seek(21 + 16);
  CHECK(reader.next(record));
  CHECK(record == kRecords[2]);
  reader.seek(5);
  CHECK_THROWS_WITH(reader.next(record), Contains("byte 5"));
  reader.seek(1 << 30);
  CHECK_THROWS_WITH(reader.next(record), Contains("byte 1073741824"));
}

TEST_CASE("a file cut anywhere gives its whole records, then an error or the end", "[core]") {
  const std::string bytes = bytes_of({"ab", "cde"});
  for (size_t length = 0; length < bytes.size(); ++length) {
    const std::vector<std::string> whole(length < 18 ? 0 : 1, "ab");
    const bool inside = length != 0 && length != 18;
    std::vector<std::string> strict = read_all(bytes.substr(0, length));
    if (inside) {
      REQUIRE_FALSE(strict.empty());
      CHECK_THAT(strict.back(), Contains("truncated") && Contains(length < 18 ? "byte 0 " : "byte 18 "));
      strict.pop_back();
    }
    CHECK(strict == whole);
    CHECK(read_all(bytes.substr(0, length), {.stop_at_truncated_tail = true}) == whole);
  }
}

TEST_CASE("a changed byte anywhere is found", "[core]") {
  const std::string bytes = bytes_of({"ab", "cde"});
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x80);
    const std::vector<std::string> records = read_all(damaged, {.stop_at_truncated_tail = true});
    REQUIRE(records.size() == (i < 18 ? 1 : 2));
    CHECK_THAT(records.back(), Contains("checksum"));
  }
}

TEST_CASE("a growing file is followed", "[core]") {
  TemporaryDirectory folder;
  RecordWriter writer(posix_file_system().create(folder.file("r")));
  RecordReader reader(posix_file_system(), folder.file("r"));
  std::string record;
  for (const char* text : {"one", "two"}) {
    CHECK_FALSE(reader.next(record));
    writer.write(text);
    writer.flush();
    CHECK(reader.next(record));
    CHECK(record == text);
  }
}
