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
#include "core/internal/little_endian.h"

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

constexpr size_t kFooterSize = 48;
constexpr uint64_t kBlockTrailer = 5;  // its compression and its checksum

struct Block {
  uint64_t offset = 0;
  uint64_t size = 0;
};

bool take_block(std::string_view& bytes, Block& block) {
  return take_varint(bytes, block.offset) && take_varint(bytes, block.size);
}

// Inside the file, before its footer, and not said to become longer than Snappy can make it (64 bytes from 2): LevelDB
// allocates what is said before it looks.
bool is_plausible(std::string_view bytes, const Block& block) {
  constexpr uint64_t kLongest = 64;
  const uint64_t end = bytes.size() - kFooterSize;
  if (block.offset > end || block.size > end - block.offset) return false;
  if (end - block.offset - block.size < kBlockTrailer) return false;
  if (bytes[block.offset + block.size] != leveldb::kSnappyCompression) return true;
  std::string_view compressed = bytes.substr(block.offset, block.size);
  uint64_t length = 0;
  return take_varint(compressed, length) && length <= kLongest * block.size;
}

// The footer has no checksum. It names the meta index and the index; gives the latter.
Block check_footer(const std::string& path, std::string_view bytes) {
  if (bytes.size() < kFooterSize) fail_table(path, concat("it has only ", bytes.size(), " bytes"));
  std::string_view footer = bytes.substr(bytes.size() - kFooterSize);
  Block block;
  for (int i = 0; i < 2; ++i) {
    if (!take_block(footer, block) || !is_plausible(bytes, block)) fail_table(path, "its footer is wrong");
  }
  return block;
}

// The entries of a block that is not compressed: what stands before its restart points.
bool entries_of(std::string_view block, std::string_view& entries) {
  if (block.size() < sizeof(uint32_t)) return false;
  const uint64_t restarts = get_little_endian<uint32_t>(block.substr(block.size() - sizeof(uint32_t)));
  if (restarts > block.size() / sizeof(uint32_t) - 1) return false;
  entries = block.substr(0, block.size() - (restarts + 1) * sizeof(uint32_t));
  return true;
}

// The blocks that the index names are inside the file, one behind the other: else a small file could have its blocks
// read over and over.
void check_index(const std::string& path, std::string_view bytes, const Block& index) {
  if (bytes[index.offset + index.size] != leveldb::kNoCompression) fail_table(path, "its index is compressed");
  std::string_view entries;
  bool right = entries_of(bytes.substr(index.offset, index.size), entries);
  for (uint64_t free_from = 0; right && !entries.empty();) {
    uint64_t shared = 0;
    uint64_t rest = 0;
    uint64_t length = 0;
    Block block;
    right = take_varint(entries, shared) && take_varint(entries, rest) && take_varint(entries, length) &&
            rest <= entries.size() && length <= entries.size() - rest;
    if (!right) break;
    std::string_view value = entries.substr(rest, length);
    entries.remove_prefix(rest + length);
    right = take_block(value, block) && is_plausible(bytes, block) && block.offset >= free_from;
    free_from = block.offset + block.size;
  }
  if (!right) fail_table(path, "its index is wrong");
}

void check(const std::string& path, const leveldb::Status& status) {
  if (!status.ok()) fail_table(path, status.ToString());
}

}  // namespace

void read_leveldb_table(const std::string& path, std::string_view bytes,
                        const std::function<void(std::string_view, std::string_view)>& visit) try {
  // A key is stored without what it shares with the one before it, and whole again every 16 keys: so a table of ours or
  // of TensorFlow has less than 16 times its bytes in keys, and a hostile one could have any number.
  constexpr uint64_t kKeyBytes = 64;
  const Block index = check_footer(path, bytes);
  MemoryReader file(bytes);
  leveldb::Options options;
  options.paranoid_checks = true;
  leveldb::Table* opened = nullptr;
  check(path, leveldb::Table::Open(options, &file, bytes.size(), &opened));
  const std::unique_ptr<leveldb::Table> table(opened);
  check_index(path, bytes, index);
  leveldb::ReadOptions read;
  read.verify_checksums = true;
  const std::unique_ptr<leveldb::Iterator> entry(table->NewIterator(read));
  uint64_t key_bytes = 0;
  for (entry->SeekToFirst(); entry->Valid(); entry->Next()) {
    key_bytes += entry->key().size();
    if (key_bytes > kKeyBytes * bytes.size()) fail_table(path, "its names are longer than it can hold");
    visit(view(entry->key()), view(entry->value()));
  }
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
