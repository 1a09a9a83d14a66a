#include "checkpoint/internal/bundle_data.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "checkpoint/internal/bundle_strings.h"
#include "checkpoint/internal/data_types.h"
#include "checkpoint/internal/slice_key.h"
#include "core/crc32c.h"
#include "core/error.h"

namespace belfry {
namespace {

constexpr uint64_t kPiece = 4 << 20;  // still in the cache when its checksum is taken

void check_size(const std::string& path, const std::string& name, const proto::BundleEntryProto& entry) {
  const at::ScalarType type = to_scalar_type(entry.dtype());
  if (type == at::ScalarType::Undefined) return;
  const int64_t wanted = count_of(shape_of(entry)) * static_cast<int64_t>(c10::elementSize(type));
  if (entry.size() != wanted) {
    fail_variable(path, name, concat("it has ", entry.size(), " bytes, and its shape and type need ", wanted));
  }
}

void check_bools(const std::string& path, const std::string& name, const char* bytes, int64_t count) {
  const bool all = std::all_of(bytes, bytes + count, [](char byte) { return byte == 0 || byte == 1; });
  if (!all) fail_variable(path, name, "a bool is neither 0 nor 1");
}

}  // namespace

BundleData::BundleData(FileSystem& files, const std::string& prefix, const BundleIndex& index) {
  uint64_t claimed = 0;
  for (const auto& [key, entry] : index.entries) {
    if (entry.slices_size() > 0) continue;
    const std::string name = readable_key(key);
    const std::string path = shard_path(prefix, entry.shard_id(), index.header.num_shards());
    const Shard& shard = open(files, path, entry.shard_id());
    check_size(index_path(prefix), name, entry);
    const auto offset = static_cast<uint64_t>(entry.offset());
    const auto size = static_cast<uint64_t>(entry.size());
    if (size > 0 && (offset > shard.size || size > shard.size - offset)) {
      fail(ErrorKind::kDataLoss, "'", path, "' is truncated: variable '", name, "' has ", size, " bytes from byte ",
           offset, " on, and the file has ", shard.size);
    }
    claimed += size;
  }
  // Entries that share bytes would let small files become large variables.
  uint64_t present = 0;
  for (const auto& [number, shard] : shards_) present += shard.size;
  if (claimed > present) {
    fail(ErrorKind::kDataLoss, "'", index_path(prefix), "' is damaged: its variables have ", claimed,
         " bytes, and the data files ", present);
  }
}

const BundleData::Shard& BundleData::open(FileSystem& files, const std::string& path, int shard) {
  const auto found = shards_.find(shard);
  if (found != shards_.end()) return found->second;
  try {
    auto file = files.open(path);
    const uint64_t size = file->size();
    return shards_.emplace(shard, Shard{path, std::move(file), size}).first->second;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kNotFound) throw;
    fail(ErrorKind::kDataLoss, "a data file of the checkpoint is missing: ", error.what());
  }
}

void BundleData::read(const std::string& name, const proto::BundleEntryProto& entry, char* to) const {
  const Shard& from = shard(entry);
  const auto size = static_cast<uint64_t>(entry.size());
  uint32_t crc = 0;
  for (uint64_t done = 0; done < size; done += kPiece) {
    const uint64_t length = std::min(kPiece, size - done);
    from.file->read(static_cast<uint64_t>(entry.offset()) + done, length, to + done);
    crc = crc32c({to + done, length}, crc);
  }
  if (mask_crc32c(crc) != entry.crc32c()) fail_variable(from.path, name, "it fails its checksum");
}

at::Tensor BundleData::tensor(const std::string& name, const proto::BundleEntryProto& entry) const {
  const at::ScalarType type = to_scalar_type(entry.dtype());
  const at::Tensor tensor = at::empty(shape_of(entry), at::TensorOptions().dtype(type).device(at::kCPU));
  char* bytes = static_cast<char*>(tensor.data_ptr());
  read(name, entry, bytes);
  if (type == at::ScalarType::Bool) check_bools(shard(entry).path, name, bytes, tensor.numel());
  return tensor;
}

StringTensor BundleData::strings(const std::string& name, const proto::BundleEntryProto& entry) const {
  const Shard& from = shard(entry);
  std::string bytes(static_cast<size_t>(entry.size()), '\0');
  from.file->read(static_cast<uint64_t>(entry.offset()), bytes.size(), bytes.data());
  std::vector<int64_t> shape = shape_of(entry);
  std::vector<std::string> strings;
  const char* wrong = decode_bundle_strings(bytes, count_of(shape), entry.crc32c(), strings);
  if (wrong) fail_variable(from.path, name, wrong);
  return {std::move(strings), std::move(shape)};
}

void BundleData::verify(const std::string& name, const proto::BundleEntryProto& entry) const {
  if (entry.dtype() == proto::DT_STRING) {
    strings(name, entry);
  } else if (to_scalar_type(entry.dtype()) != at::ScalarType::Undefined) {
    tensor(name, entry);
  }
}

}  // namespace belfry
