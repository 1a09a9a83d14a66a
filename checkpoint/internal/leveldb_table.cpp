#include "checkpoint/internal/leveldb_table.h"

#include <leveldb/env.h>
#include <leveldb/iterator.h>
#include <leveldb/options.h>
#include <leveldb/table.h>
#include <leveldb/table_builder.h>

#include <memory>
#include <new>

#include "checkpoint/internal/varint.h"
#include "core/error.h"

namespace belfry {
namespace {

leveldb::Slice slice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
std::string_view view(const leveldb::Slice& bytes) { return {bytes.data(), bytes.size()}; }

class MemoryReader : public leveldb::RandomAccessFile {
 public:
  explicit MemoryReader(std::string_view bytes) : bytes_(bytes) {}

  leveldb::Status Read(uint64_t offset, size_t length, leveldb::Slice* result, char*) const override {
    if (offset > bytes_.size() || length > bytes_.size() - offset) {
      return leveldb::Status::Corruption("a block lies outside the file");
    }
    *result = slice(bytes_.substr(offset, length));
    return leveldb::Status::OK();
  }

 private:
  std::string_view bytes_;
};

class MemoryWriter : public leveldb::WritableFile {
 public:
  leveldb::Status Append(const leveldb::Slice& data) override {
    bytes.append(data.data(), data.size());
    return leveldb::Status::OK();
  }
  leveldb::Status Close() override { return leveldb::Status::OK(); }
  leveldb::Status Flush() override { return leveldb::Status::OK(); }
  leveldb::Status Sync() override { return leveldb::Status::OK(); }

  std::string bytes;
};

[[noreturn]] void fail_table(const std::string& path, std::string_view why) {
  fail(ErrorKind::kDataLoss, "'", path, "' is damaged or is not the index of a checkpoint: ", why);
}

// The footer has no checksum, and LevelDB allocates what it says before it reads: so its two blocks (place and size of
// the meta index and of the index, as varints) are looked at first.
void check_footer(const std::string& path, std::string_view bytes) {
  constexpr size_t kFooterSize = 48;
  constexpr uint64_t kBlockTrailer = 5;
  if (bytes.size() < kFooterSize) fail_table(path, concat("it has only ", bytes.size(), " bytes"));
  std::string_view footer = bytes.substr(bytes.size() - kFooterSize);
  for (int block = 0; block < 2; ++block) {
    uint64_t offset = 0;
    uint64_t size = 0;
    const bool read = take_varint(footer, offset) && take_varint(footer, size);
    const uint64_t end = bytes.size() - kFooterSize;
    if (!read || offset > end || size > end - offset || kBlockTrailer > end - offset - size) {
      fail_table(path, "its footer is wrong");
    }
  }
}

void check(const std::string& path, const leveldb::Status& status) {
  if (!status.ok()) fail_table(path, status.ToString());
}

}  // namespace

void read_leveldb_table(const std::string& path, std::string_view bytes,
                        const std::function<void(std::string_view, std::string_view)>& visit) try {
  check_footer(path, bytes);
  MemoryReader file(bytes);
  leveldb::Options options;
  options.paranoid_checks = true;
  leveldb::Table* opened = nullptr;
  check(path, leveldb::Table::Open(options, &file, bytes.size(), &opened));
  const std::unique_ptr<leveldb::Table> table(opened);
  leveldb::ReadOptions read;
  read.verify_checksums = true;
  const std::unique_ptr<leveldb::Iterator> entry(table->NewIterator(read));
  for (entry->SeekToFirst(); entry->Valid(); entry->Next()) visit(view(entry->key()), view(entry->value()));
  check(path, entry->status());
} catch (const std::bad_alloc&) {
  fail_table(path, "a block claims more than the memory there is");
}

std::string leveldb_table_bytes(const std::map<std::string, std::string>& entries) {
  MemoryWriter file;
  leveldb::Options options;
  options.compression = leveldb::kNoCompression;
  leveldb::TableBuilder builder(options, &file);
  for (const auto& [key, value] : entries) builder.Add(key, value);
  const leveldb::Status status = builder.Finish();
  if (!status.ok()) fail(ErrorKind::kInternal, "the index of a checkpoint cannot be built: ", status.ToString());
  return std::move(file.bytes);
}

}  // namespace belfry
