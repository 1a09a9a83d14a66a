#include <algorithm>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/internal/little_endian.h"
#include "core/record_io.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/memory_file.h"

namespace belfry::fuzz {
namespace {

constexpr size_t kHeader = 12;
constexpr size_t kFooter = 4;

void set_crc(std::string& bytes, size_t at, std::string_view of) {
  std::string crc;
  put_little_endian(crc, masked_crc32c(of));
  std::copy(crc.begin(), crc.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
}

// Right checksums for whatever stands where records are: they would stop nearly every mutation.
std::string with_checksums(std::string bytes) {
  for (size_t at = 0; at + kHeader <= bytes.size();) {
    const std::string_view rest = std::string_view(bytes).substr(at);
    const auto length = get_little_endian<uint64_t>(rest);
    set_crc(bytes, at + 8, rest.substr(0, 8));
    if (length > rest.size() || rest.size() - length < kHeader + kFooter) break;
    set_crc(bytes, at + kHeader + length, rest.substr(kHeader, length));
    at += kHeader + length + kFooter;
  }
  return bytes;
}

int64_t read_all(RecordReader& reader, uint64_t file_size) {
  std::string record;
  uint64_t total = 0;
  int64_t records = 0;
  for (uint64_t before = 0; reader.next(record); before = reader.offset()) {
    total += kHeader + record.size() + kFooter;
    promise(reader.offset() == before + kHeader + record.size() + kFooter, "the place moves by the record");
    promise(total <= file_size, "the records are not longer than their file");
    ++records;
  }
  promise(record.empty(), "there is no record at the end");
  return records;
}

// The first byte says how the others are read.
bool run(std::string_view bytes) {
  const int mode = bytes.empty() ? 0 : static_cast<unsigned char>(bytes.front());
  std::string content(bytes.substr(std::min<size_t>(1, bytes.size())));
  if (mode & 1) content = with_checksums(std::move(content));
  const uint64_t size = content.size();
  const RecordReaderOptions options{.stop_at_truncated_tail = (mode & 2) != 0,
                                    .buffer_size = mode & 4 ? uint64_t{16} : uint64_t{1} << 16};
  RecordReader reader(std::make_unique<testing::MemoryFile>(std::move(content)), "fuzz", options);
  if (mode & 8) reader.seek(size / 3);
  try {
    if (mode & 8) {
      std::string record;
      reader.next(record);
      return true;
    }
    return read_all(reader, size) > 0;
  } catch (const Error& error) {
    promise(error.kind() == ErrorKind::kDataLoss, "the kind of the error is kDataLoss");
    const uint64_t place = reader.offset();
    std::string record;
    try {
      promise(!reader.next(record), "a record that failed fails again");
    } catch (const Error&) {
    }
    promise(reader.offset() == place, "an error does not move the place");
    return false;
  }
}

std::vector<std::string> seeds() {
  std::string records;
  for (const std::string& record : {std::string("first"), std::string(), std::string(300, 'x')}) {
    put_little_endian<uint64_t>(records, record.size());
    records += std::string(4, '\0') + record + std::string(4, '\0');
  }
  records = with_checksums(std::move(records));
  std::vector<std::string> all;
  for (const char mode : {0, 1, 2, 3, 4, 5, 7}) all.push_back(mode + records);
  return all;
}

}  // namespace

const FuzzTarget record_target{"record", run, seeds};

}  // namespace belfry::fuzz
