// The index file of a checkpoint: a LevelDB table from names to BundleEntryProto, with the header under the empty name.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "belfry/core/tensor_bundle.pb.h"
#include "core/file_system.h"

namespace belfry {

struct BundleIndex {
  proto::BundleHeaderProto header;
  std::map<std::string, proto::BundleEntryProto, std::less<>>
      entries;  // by key; those of slices begin with a zero byte
};

std::string index_path(const std::string& prefix);
std::string shard_path(const std::string& prefix, int shard, int shards);

// Each entry is a message of this format with a known shape and non-negative numbers that do not overflow, in a shard
// that the header counts. Whether the data files hold it was not looked at. kNotFound when there is no such file,
// kDataLoss, with the path, for damage, kUnimplemented for big-endian or newer formats.
BundleIndex read_bundle_index(FileSystem& files, const std::string& prefix);

// The bytes of an index file.
std::string bundle_index_bytes(const BundleIndex& index);

// kDataLoss naming the index of `prefix` and the variable.
[[noreturn]] void fail_variable(const std::string& file, const std::string& name, const std::string& what);

// The entry's shape; its product.
std::vector<int64_t> shape_of(const proto::BundleEntryProto& entry);
int64_t count_of(const std::vector<int64_t>& shape);

}  // namespace belfry
