// Whatever the bytes are: the true values, or an Error that says where; never a crash or a huge allocation.
#include <functional>
#include <random>

#include "checkpoint/checkpoint_writer.h"
#include "checkpoint/internal/bundle_index.h"
#include "checkpoint/internal/leveldb_table.h"
#include "checkpoint/internal/varint.h"
#include "core/crc32c.h"
#include "core/internal/little_endian.h"
#include "tests/checkpoint/checkpoint_testing.h"
#include "tests/support/check_fails.h"
#include "tests/support/temporary_directory.h"

using namespace belfry;
using namespace belfry::testing;

namespace {

class Damage {
 public:
  Damage() : prefix_(folder_.file("a")) {
    CheckpointWriter writer(prefix_);
    for (const CheckpointEntry& entry : sample_entries(1)) writer.add(entry.name, entry.value);
    writer.finish();
    index = read_file(posix_file_system(), index_path(prefix_));
    data = read_file(posix_file_system(), shard_path(prefix_, 0, 1));
  }

  // True when the values are the true ones, false when there was an Error.
  bool survives(const std::string& index_bytes, const std::string& data_bytes) {
    write(index_path(prefix_), index_bytes);
    write(shard_path(prefix_, 0, 1), data_bytes);
    try {
      const CheckpointReader reader(prefix_);
      reader.verify();
      for (const CheckpointVariable& variable : reader.variables()) reader.value(variable.name);
      return holds(reader, sample_entries(1));
    } catch (const Error& error) {
      CHECK((error.kind() == ErrorKind::kDataLoss || error.kind() == ErrorKind::kUnimplemented));
      CHECK_THAT(error.what(), Catch::Contains(prefix_));
      return false;
    }
  }

  // With another index.
  void read(const std::string& index_bytes) {
    write(index_path(prefix_), index_bytes);
    const CheckpointReader reader(prefix_);
    for (const CheckpointVariable& variable : reader.variables()) reader.value(variable.name);
  }

  std::string index;
  std::string data;

 private:
  static void write(const std::string& path, const std::string& bytes) {
    const auto file = posix_file_system().create(path);
    file->append(bytes);
    file->close();
  }

  TemporaryDirectory folder_;
  const std::string prefix_;
};

std::string changed(std::string bytes, size_t i, int by) {
  bytes[i] = static_cast<char>(bytes[i] ^ by);
  return bytes;
}

}  // namespace

TEST_CASE("a changed byte of the data is always found", "[checkpoint]") {
  Damage damage;
  REQUIRE(damage.survives(damage.index, damage.data));
  for (size_t i = 0; i < damage.data.size(); ++i) {
    for (const int by : {0x01, 0x80, 0xff}) CHECK_FALSE(damage.survives(damage.index, changed(damage.data, i, by)));
  }
}

TEST_CASE("a changed byte of the index is found or harmless", "[checkpoint]") {
  Damage damage;
  size_t found = 0;
  for (size_t i = 0; i < damage.index.size(); ++i) {
    for (const int by : {0x01, 0x80, 0xff}) found += !damage.survives(changed(damage.index, i, by), damage.data);
  }
  CHECK(found > damage.index.size() * 2);  // what is harmless is the padding of the footer
}

TEST_CASE("files cut anywhere are found", "[checkpoint]") {
  Damage damage;
  for (size_t size = 0; size < damage.index.size(); ++size) {
    CHECK_FALSE(damage.survives(damage.index.substr(0, size), damage.data));
  }
  for (size_t size = 0; size < damage.data.size(); ++size) {
    CHECK_FALSE(damage.survives(damage.index, damage.data.substr(0, size)));
  }
}

TEST_CASE("random footers are no danger", "[checkpoint]") {
  Damage damage;
  std::mt19937 random(2);
  for (int i = 0; i < 500; ++i) {
    std::string bytes = damage.index;
    for (size_t k = bytes.size() - 48; k < bytes.size() - 8; ++k) {
      if (random() % 4 == 0) bytes[k] = static_cast<char>(random());
    }
    damage.survives(bytes, damage.data);
  }
}

TEST_CASE("random entries with right checksums are no danger", "[checkpoint]") {
  Damage damage;
  std::map<std::string, std::string> table;
  read_leveldb_table("index", damage.index,
                     [&](std::string_view key, std::string_view value) { table.emplace(key, value); });
  std::mt19937 random(3);
  for (int i = 0; i < 1000; ++i) {
    std::map<std::string, std::string> other = table;
    auto at = std::next(other.begin(), static_cast<std::ptrdiff_t>(random() % other.size()));
    std::string& value = at->second;
    for (uint32_t changes = 1 + random() % 3; changes > 0 && !value.empty(); --changes) {
      value[random() % value.size()] = static_cast<char>(random());
    }
    if (random() % 8 == 0) value.resize(random() % (value.size() + 1));
    damage.survives(leveldb_table_bytes(other), damage.data);
  }
}

namespace {

struct Handle {
  uint64_t offset = 0;
  uint64_t size = 0;
};

std::string table_entry(uint64_t shared, const std::string& rest, const std::string& value) {
  std::string entry;
  for (const uint64_t number : {shared, uint64_t{rest.size()}, uint64_t{value.size()}}) put_varint(entry, number);
  return entry + rest + value;
}

std::string bytes_of(const Handle& handle) {
  std::string bytes;
  put_varint(bytes, handle.offset);
  put_varint(bytes, handle.size);
  return bytes;
}

Handle append_block(std::string& file, std::string block, char compression) {
  if (compression == 0) {
    put_little_endian(block, uint32_t{0});  // one place to start from
    put_little_endian(block, uint32_t{1});
  }
  const Handle handle{file.size(), block.size()};
  block += compression;
  put_little_endian(block, masked_crc32c(block));
  file += block;
  return handle;
}

// A table of one block of data, with right checksums; `handles` makes of its place what the index says.
std::string hand_made_table(const std::string& data, char compression,
                            const std::function<std::vector<Handle>(Handle)>& handles) {
  std::string file;
  const Handle block = append_block(file, data, compression);
  const Handle meta = append_block(file, "", 0);
  std::string index;
  for (const Handle& handle : handles(block)) index += table_entry(0, "\xff", bytes_of(handle));
  std::string footer = bytes_of(meta) + bytes_of(append_block(file, index, 0));
  footer.resize(40);
  put_little_endian(footer, uint64_t{0xdb4775248b80fb57});
  return file + footer;
}

std::vector<std::string> keys_of(const std::string& table) {
  std::vector<std::string> keys;
  read_leveldb_table("index", table, [&](std::string_view key, std::string_view) { keys.emplace_back(key); });
  return keys;
}

}  // namespace

TEST_CASE("a small table cannot claim to be a large one", "[checkpoint]") {
  const std::string data = table_entry(0, "ab", "value") + table_entry(1, "c", "");
  const auto itself = [](Handle block) { return std::vector{block}; };
  REQUIRE(keys_of(hand_made_table(data, 0, itself)) == std::vector<std::string>{"ab", "ac"});

  SECTION("by reading one block again") {
    const auto twice = [](Handle block) { return std::vector{block, block}; };
    CHECK_FAILS(keys_of(hand_made_table(data, 0, twice)), ErrorKind::kDataLoss, "its index is wrong");
  }
  SECTION("by a block that is larger than the file") {
    const auto large = [](Handle block) { return std::vector{Handle{block.offset, uint64_t{1} << 33}}; };
    CHECK_FAILS(keys_of(hand_made_table(data, 0, large)), ErrorKind::kDataLoss, "its index is wrong");
  }
  SECTION("by a compressed block that says it is large") {
    std::string claim;
    put_varint(claim, 0xffffffff);
    CHECK_FAILS(keys_of(hand_made_table(claim + "abc", 1, itself)), ErrorKind::kDataLoss, "its index is wrong");
  }
  SECTION("by long keys that share all but a byte") {
    std::string many = table_entry(0, std::string(10000, 'k'), "");
    for (int i = 0; i < 10000; ++i) many += table_entry(10000, "x", "");
    CHECK_FAILS(keys_of(hand_made_table(many, 0, itself)), ErrorKind::kDataLoss, "longer than it can hold");
  }
}

TEST_CASE("variables cannot share their bytes", "[checkpoint]") {
  Damage damage;
  std::map<std::string, std::string> table;
  read_leveldb_table("index", damage.index,
                     [&](std::string_view key, std::string_view value) { table.emplace(key, value); });
  std::string largest;
  int64_t size = 0;
  for (const auto& [key, value] : table) {
    proto::BundleEntryProto entry;
    if (key.empty() || !entry.ParseFromString(value) || entry.size() <= size) continue;
    size = entry.size();
    largest = value;
  }
  for (int64_t i = 0; i <= static_cast<int64_t>(damage.data.size()) / size; ++i) {
    table["copy " + std::to_string(i)] = largest;
  }
  CHECK_FAILS(damage.read(leveldb_table_bytes(table)), ErrorKind::kDataLoss, "bytes, and the data files");
}

TEST_CASE("a variable has no more dimensions than TensorFlow gives it", "[checkpoint]") {
  Damage damage;
  std::map<std::string, std::string> table;
  read_leveldb_table("index", damage.index,
                     [&](std::string_view key, std::string_view value) { table.emplace(key, value); });
  proto::BundleEntryProto entry;
  entry.set_dtype(proto::DT_FLOAT);
  entry.set_crc32c(masked_crc32c(""));
  for (int i = 0; i < 255; ++i) entry.mutable_shape()->add_dim()->set_size(i > 0);
  table["deep"] = entry.SerializeAsString();
  CHECK_FAILS(damage.read(leveldb_table_bytes(table)), ErrorKind::kDataLoss, "its shape has 255 dimensions");
  entry.mutable_shape()->mutable_dim()->RemoveLast();
  table["deep"] = entry.SerializeAsString();
  CHECK_NOTHROW(damage.read(leveldb_table_bytes(table)));
}
