#include <algorithm>
#include <map>
#include <optional>

#include "belfry/core/tensor_bundle.pb.h"
#include "checkpoint/checkpoint_reader.h"
#include "checkpoint/internal/leveldb_table.h"
#include "checkpoint/internal/slice_key.h"
#include "checkpoint/internal/varint.h"
#include "core/crc32c.h"
#include "core/error.h"
#include "core/internal/little_endian.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/memory_file_system.h"

namespace belfry::fuzz {
namespace {

// What the first byte of an input says the others are.
enum Mode : char {
  kIndex,           // the index file, which is then followed by no data
  kCheckedIndex,    // the index file, whose checksums are made right
  kEntries,         // keys and values of the index, and the data
  kCheckedEntries,  // the same, and the checksums of the variables are made right
};

using Entries = std::map<std::string, std::string>;

std::string_view take(std::string_view& bytes, size_t length) {
  const std::string_view part = bytes.substr(0, length);
  bytes.remove_prefix(part.size());
  return part;
}

std::string_view take_chunk(std::string_view& bytes) {
  const std::string_view length = take(bytes, 2);
  return length.size() < 2 ? std::string_view() : take(bytes, get_little_endian<uint16_t>(length));
}

void put_chunk(std::string& bytes, const std::string& chunk) {
  put_little_endian(bytes, static_cast<uint16_t>(chunk.size()));
  bytes += chunk;
}

std::string packed(Mode mode, const Entries& entries, const std::string& data) {
  std::string bytes(1, mode);
  bytes += static_cast<char>(entries.size());
  for (const auto& [key, value] : entries) {
    put_chunk(bytes, key);
    put_chunk(bytes, value);
  }
  return bytes + data;
}

Entries unpack(std::string_view& bytes) {
  Entries entries;
  const std::string_view count = take(bytes, 1);
  for (int i = count.empty() ? 0 : static_cast<unsigned char>(count[0]); i > 0; --i) {
    const std::string key(take_chunk(bytes));
    entries[key] = take_chunk(bytes);
  }
  return entries;
}

// With the checksum of the data that the entry names, where it names any.
void check_entry(std::string& value, std::string_view data) {
  proto::BundleEntryProto entry;
  if (!entry.ParseFromString(value) || entry.offset() < 0 || entry.size() < 0) return;
  const auto offset = static_cast<size_t>(entry.offset());
  if (offset > data.size() || static_cast<size_t>(entry.size()) > data.size() - offset) return;
  entry.set_crc32c(masked_crc32c(data.substr(offset, static_cast<size_t>(entry.size()))));
  value = entry.SerializeAsString();
}

void check_block(std::string& index, uint64_t offset, uint64_t size) {
  constexpr uint64_t kType = 1;
  if (offset > index.size() || size > index.size() - offset || index.size() - offset - size < kType + 4) return;
  std::string crc;
  put_little_endian(crc, masked_crc32c(std::string_view(index).substr(offset, size + kType)));
  std::copy(crc.begin(), crc.end(), index.begin() + static_cast<std::ptrdiff_t>(offset + size + kType));
}

// With the checksums of the two blocks that the footer names, and of one block of data before them.
std::string with_checksums(std::string index) {
  constexpr uint64_t kFooter = 48;
  constexpr uint64_t kTrailer = 5;
  if (index.size() < kFooter) return index;
  const std::string footer = index.substr(index.size() - kFooter);
  std::string_view numbers = footer;
  uint64_t offset = 0;
  uint64_t size = 0;
  for (int block = 0; block < 2 && take_varint(numbers, offset) && take_varint(numbers, size); ++block) {
    check_block(index, offset, size);
    if (block == 0 && offset >= kTrailer) check_block(index, 0, offset - kTrailer);
  }
  return index;
}

bool read_checkpoint(std::string index, std::string_view data) {
  testing::MemoryFileSystem files({{"fuzz.index", std::move(index)}, {"fuzz.data-00000-of-00001", std::string(data)}});
  const CheckpointReader reader("fuzz", files);
  for (const CheckpointVariable& variable : reader.variables()) {
    try {
      promise(reader.value(variable.name).sizes() == variable.shape, "the value has the shape that was told");
    } catch (const Error& error) {
      promise(error.kind() == ErrorKind::kDataLoss || error.kind() == ErrorKind::kUnimplemented,
              "a variable that is known is damaged or of a type that LibTorch lacks");
    }
  }
  reader.verify();
  return true;
}

bool run(std::string_view bytes) {
  const auto mode = static_cast<Mode>(take(bytes, 1) == "" ? 0 : bytes.data()[-1] & 3);
  std::string index(bytes);
  if (mode == kIndex) bytes = {};
  if (mode == kCheckedIndex) index = with_checksums(std::move(index));
  if (mode >= kEntries) {
    Entries entries = unpack(bytes);
    for (auto& [key, value] : entries) {
      if (mode == kCheckedEntries && !key.empty()) check_entry(value, bytes);
    }
    index = leveldb_table_bytes(entries);
  }
  try {
    return read_checkpoint(std::move(index), bytes);
  } catch (const Error& error) {
    promise(error.kind() == ErrorKind::kDataLoss || error.kind() == ErrorKind::kUnimplemented,
            "the kind of the error is kDataLoss or kUnimplemented");
    promise(std::string_view(error.what()).find("fuzz.") != std::string_view::npos, "the error names the file");
    return false;
  }
}

proto::BundleEntryProto entry_of(proto::DataType dtype, std::initializer_list<int64_t> shape, int64_t offset,
                                 int64_t size) {
  proto::BundleEntryProto entry;
  entry.set_dtype(dtype);
  for (const int64_t length : shape) entry.mutable_shape()->add_dim()->set_size(length);
  entry.set_offset(offset);
  entry.set_size(size);
  return entry;
}

void add_parts(Entries& entries) {
  proto::BundleEntryProto whole = entry_of(proto::DT_FLOAT, {4, 2}, 0, 0);
  for (const int64_t start : {0, 2}) {
    auto& slice = *whole.add_slices();
    slice.add_extent()->set_start(start);
    slice.mutable_extent(0)->set_length(2);
    slice.add_extent();
    entries[slice_key("parts", slice)] = entry_of(proto::DT_FLOAT, {2, 2}, 34 + start * 8, 16).SerializeAsString();
  }
  entries["parts"] = whole.SerializeAsString();
}

std::vector<std::string> seeds() {
  proto::BundleHeaderProto header;
  header.set_num_shards(1);
  header.mutable_version()->set_producer(1);
  const std::string empty_index = leveldb_table_bytes({{"", header.SerializeAsString()}});
  Entries entries = {{"", header.SerializeAsString()},
                     {"flag", entry_of(proto::DT_BOOL, {2}, 32, 2).SerializeAsString()},
                     {"half", entry_of(proto::DT_HALF, {0, 3}, 0, 0).SerializeAsString()},
                     {"kernel", entry_of(proto::DT_FLOAT, {2, 4}, 0, 32).SerializeAsString()}};
  add_parts(entries);
  std::string data(66, '\1');
  for (auto& [key, value] : entries) {
    if (!key.empty()) check_entry(value, data);
  }
  std::vector<std::string> all = {std::string(1, kIndex) + empty_index, std::string(1, kCheckedIndex) + empty_index,
                                  packed(kEntries, entries, data), packed(kCheckedEntries, entries, data)};
  return all;
}

}  // namespace

const FuzzTarget checkpoint_target{"checkpoint", run, seeds};

}  // namespace belfry::fuzz
