// The data files of a checkpoint.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <string>

#include "checkpoint/internal/bundle_index.h"
#include "core/file_system.h"
#include "core/string_tensor.h"

namespace belfry {

// The shards that some entry lies in, open. Threads may share one object. `name` is for messages; damage is kDataLoss.
class BundleData {
 public:
  // Each entry lies inside its file and has the size that its type and shape ask for; all together are no larger than
  // the files.
  BundleData(FileSystem& files, const std::string& prefix, const BundleIndex& index);

  // Entries that are not in parts, of a type LibTorch has.
  at::Tensor tensor(const std::string& name, const proto::BundleEntryProto& entry) const;
  StringTensor strings(const std::string& name, const proto::BundleEntryProto& entry) const;
  // Compares the checksum; of entries whose type is unknown here it cannot, and does nothing.
  void verify(const std::string& name, const proto::BundleEntryProto& entry) const;

 private:
  struct Shard {
    std::string path;
    std::unique_ptr<RandomAccessFile> file;
    uint64_t size = 0;
  };

  const Shard& open(FileSystem& files, const std::string& path, int shard);
  const Shard& shard(const proto::BundleEntryProto& entry) const { return shards_.at(entry.shard_id()); }
  void read(const std::string& name, const proto::BundleEntryProto& entry, char* to) const;

  std::map<int, Shard> shards_;
};

}  // namespace belfry
