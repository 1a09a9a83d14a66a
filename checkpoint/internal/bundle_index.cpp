#include "checkpoint/internal/bundle_index.h"

#include <array>
#include <cstdio>
#include <limits>

#include "checkpoint/internal/leveldb_table.h"
#include "checkpoint/internal/slice_key.h"
#include "core/error.h"

namespace belfry {
namespace {

constexpr int kFormatVersion = 1;

proto::BundleHeaderProto parse_header(const std::string& path, std::string_view value) {
  proto::BundleHeaderProto header;
  if (!header.ParseFromArray(value.data(), static_cast<int>(value.size())) || header.num_shards() < 1) {
    fail(ErrorKind::kDataLoss, "'", path, "' is damaged: its header cannot be understood");
  }
  if (header.endianness() != proto::BundleHeaderProto::LITTLE) {
    fail(ErrorKind::kUnimplemented, "'", path, "' was written on a big-endian machine");
  }
  if (header.version().min_consumer() > kFormatVersion) {
    fail(ErrorKind::kUnimplemented, "'", path, "' wants a reader of version ", header.version().min_consumer(),
         " of the format; this one is of version ", kFormatVersion);
  }
  return header;
}

void check_shape(const std::string& path, const std::string& name, const proto::BundleEntryProto& entry) {
  if (entry.shape().unknown_rank()) fail_variable(path, name, "its shape is unknown");
  constexpr int kMostDimensions = 254;  // of TensorFlow's shapes
  if (entry.shape().dim_size() > kMostDimensions) {
    fail_variable(path, name, concat("its shape has ", entry.shape().dim_size(), " dimensions"));
  }
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max() / 16;  // 16: the size of the largest element
  int64_t product = 1;  // of the sizes that are not 0: strides multiply those
  for (const auto& dim : entry.shape().dim()) {
    if (dim.size() < 0 || (dim.size() > 0 && product > kLargest / dim.size())) {
      fail_variable(path, name, concat("its shape has the impossible size ", dim.size()));
    }
    if (dim.size() > 0) product *= dim.size();
  }
}

proto::BundleEntryProto parse_entry(const std::string& path, const std::string& name, std::string_view value,
                                    int shards) {
  proto::BundleEntryProto entry;
  if (!entry.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
    fail_variable(path, name, "its entry cannot be understood");
  }
  check_shape(path, name, entry);
  if (entry.offset() < 0 || entry.size() < 0 || entry.shard_id() < 0 || entry.shard_id() >= shards) {
    fail_variable(path, name,
                  concat("its data lie at byte ", entry.offset(), " of shard ", entry.shard_id(), " of ", shards,
                         " and have ", entry.size(), " bytes"));
  }
  return entry;
}

}  // namespace

std::string index_path(const std::string& prefix) { return prefix + ".index"; }

std::string shard_path(const std::string& prefix, int shard, int shards) {
  std::array<char, 48> suffix{};
  std::snprintf(suffix.data(), suffix.size(), ".data-%05d-of-%05d", shard, shards);
  return prefix + suffix.data();
}

void fail_variable(const std::string& file, const std::string& name, const std::string& what) {
  fail(ErrorKind::kDataLoss, "'", file, "' is damaged: variable '", name, "': ", what);
}

std::vector<int64_t> shape_of(const proto::BundleEntryProto& entry) {
  std::vector<int64_t> shape;
  for (const auto& dim : entry.shape().dim()) shape.push_back(dim.size());
  return shape;
}

int64_t count_of(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

BundleIndex read_bundle_index(FileSystem& files, const std::string& prefix) {
  const std::string path = index_path(prefix);
  const std::string bytes = read_file(files, path);
  BundleIndex index;
  bool has_header = false;
  read_leveldb_table(path, bytes, [&](std::string_view key, std::string_view value) {
    if (key.empty()) {
      index.header = parse_header(path, value);
      has_header = true;
      return;
    }
    if (!has_header) fail(ErrorKind::kDataLoss, "'", path, "' is not the index of a checkpoint: it has no header");
    const std::string name(key);
    index.entries[name] = parse_entry(path, readable_key(name), value, index.header.num_shards());
  });
  if (!has_header) fail(ErrorKind::kDataLoss, "'", path, "' is not the index of a checkpoint: it is empty");
  return index;
}

std::string bundle_index_bytes(const BundleIndex& index) {
  std::map<std::string, std::string> table;
  table[""] = index.header.SerializeAsString();
  for (const auto& [key, entry] : index.entries) table[key] = entry.SerializeAsString();
  return leveldb_table_bytes(table);
}

}  // namespace belfry
