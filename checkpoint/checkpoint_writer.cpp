#include "checkpoint/checkpoint_writer.h"

#include <ATen/core/Tensor.h>

#include <algorithm>

#include "checkpoint/internal/bundle_index.h"
#include "checkpoint/internal/bundle_strings.h"
#include "checkpoint/internal/data_types.h"
#include "core/crc32c.h"
#include "core/error.h"

namespace belfry {
namespace {

constexpr size_t kPiece = 4 << 20;  // still in the cache when its checksum is taken

std::string folder_of(const std::string& prefix) {
  const size_t slash = prefix.rfind('/');
  return slash == std::string::npos ? "." : prefix.substr(0, slash + 1);
}

proto::DataType type_or_fail(const std::string& name, const at::Tensor& tensor) {
  require(tensor.defined(), "checkpoint: the tensor of '", name, "' is undefined");
  const proto::DataType type = to_data_type(tensor.scalar_type());
  if (type == proto::DT_INVALID || tensor.layout() != at::kStrided || tensor.is_quantized()) {
    fail(ErrorKind::kUnimplemented, "checkpoint: '", name, "' is a tensor of type ",
         c10::toString(tensor.scalar_type()), " and layout ", tensor.layout(), ", which the format cannot hold");
  }
  return type;
}

// How many data files the checkpoint that is there has; 0 when there is none to preserve.
int shards_there(FileSystem& files, const std::string& prefix) {
  if (!files.exists(index_path(prefix))) return 0;
  try {
    return read_bundle_index(files, prefix).header.num_shards();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kIo) throw;
    return 0;  // damaged: nothing to lose
  }
}

}  // namespace

class CheckpointWriter::Impl {
 public:
  Impl(std::string prefix, FileSystem& files)
      : prefix_(std::move(prefix)),
        files_(files),
        replaced_shards_(shards_there(files, prefix_)),
        shards_(replaced_shards_ == 1 ? 2 : 1),
        temporary_data_(temporary_path(shard_path(prefix_, 0, shards_))),
        temporary_index_(temporary_path(index_path(prefix_))),
        data_(files.create(temporary_data_)) {
    index_.header.set_num_shards(shards_);
    index_.header.mutable_version()->set_producer(1);
  }

  ~Impl() {
    if (!visible_) remove_temporary_files();
  }

  void add(const std::string& name, const Value& value) {
    require(!name.empty(), "checkpoint: a variable has an empty name");
    require(name.front() != '\0', "checkpoint: a name begins with a zero byte");
    if (index_.entries.contains(name)) {
      fail(ErrorKind::kAlreadyExists, "checkpoint '", prefix_, "': the name '", name, "' comes twice");
    }
    require_usable();
    proto::BundleEntryProto entry;
    proto::TensorShapeProto* shape = entry.mutable_shape();  // there for a scalar too
    for (const int64_t size : value.sizes()) shape->add_dim()->set_size(size);
    entry.set_offset(offset_);
    if (value.is_strings()) {
      write_strings(value.strings(), entry);
    } else {
      entry.set_dtype(type_or_fail(name, value.tensor()));
      write_tensor(value.tensor(), entry);
    }
    offset_ += entry.size();
    index_.entries[name] = std::move(entry);
  }

  void finish() {
    require_usable();
    usable_ = false;
    data_->sync();
    data_->close();
    write_file(temporary_index_, bundle_index_bytes(index_));
    files_.rename(temporary_data_, shard_path(prefix_, 0, shards_));
    for (int shard = 1; shard < shards_; ++shard) write_file(shard_path(prefix_, shard, shards_), "");
    files_.sync_directory(folder_of(prefix_));
    files_.rename(temporary_index_, index_path(prefix_));
    visible_ = true;
    files_.sync_directory(folder_of(prefix_));
    for (int shard = 0; shard < replaced_shards_; ++shard) {
      files_.remove_file(shard_path(prefix_, shard, replaced_shards_));
    }
  }

 private:
  void require_usable() const {
    if (!usable_) {
      fail(ErrorKind::kFailedPrecondition, "checkpoint '", prefix_, "' is finished, or an earlier write of it failed");
    }
  }

  void write_tensor(const at::Tensor& tensor, proto::BundleEntryProto& entry) {
    const at::Tensor plain = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous();
    const std::string_view bytes(static_cast<const char*>(plain.const_data_ptr()), plain.nbytes());
    uint32_t crc = 0;
    for (size_t done = 0; done < bytes.size(); done += kPiece) {
      const std::string_view piece = bytes.substr(done, kPiece);
      crc = crc32c(piece, crc);
      append(piece);
    }
    entry.set_size(static_cast<int64_t>(bytes.size()));
    entry.set_crc32c(mask_crc32c(crc));
  }

  void write_strings(const StringTensor& strings, proto::BundleEntryProto& entry) {
    const BundleStrings encoded = encode_bundle_strings(strings.begin(), strings.end());
    append(encoded.bytes);
    entry.set_dtype(proto::DT_STRING);
    entry.set_size(static_cast<int64_t>(encoded.bytes.size()));
    entry.set_crc32c(encoded.masked_crc);
  }

  void append(std::string_view bytes) {
    usable_ = false;  // for good when this throws: how much was written is not known
    data_->append(bytes);
    usable_ = true;
  }

  void write_file(const std::string& path, std::string_view bytes) {
    const auto file = files_.create(path);
    file->append(bytes);
    file->sync();
    file->close();
  }

  void remove_temporary_files() {
    data_.reset();
    for (const std::string& path : {temporary_data_, temporary_index_}) {
      try {
        files_.remove_file(path);
      } catch (const Error&) {  // the next save of CheckpointManager tries again
      }
    }
  }

  const std::string prefix_;
  FileSystem& files_;
  const int replaced_shards_;
  const int shards_;
  const std::string temporary_data_;
  const std::string temporary_index_;
  std::unique_ptr<WritableFile> data_;
  BundleIndex index_;
  int64_t offset_ = 0;
  bool usable_ = true;
  bool visible_ = false;
};

CheckpointWriter::CheckpointWriter(std::string prefix, FileSystem& files)
    : impl_(std::make_unique<Impl>(std::move(prefix), files)) {}

CheckpointWriter::~CheckpointWriter() = default;

void CheckpointWriter::add(const std::string& name, const Value& value) { impl_->add(name, value); }

void CheckpointWriter::finish() { impl_->finish(); }

}  // namespace belfry
