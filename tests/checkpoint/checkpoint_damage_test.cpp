// Whatever the bytes are: the true values, or an Error that says where; never a crash or a huge allocation.
#include <random>

#include "checkpoint/checkpoint_writer.h"
#include "checkpoint/internal/bundle_index.h"
#include "checkpoint/internal/leveldb_table.h"
#include "tests/checkpoint/checkpoint_testing.h"
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
