// Writes a checkpoint of TensorFlow's V2 format.
#pragma once

#include <memory>
#include <string>

#include "../core/file_system.h"
#include "../core/tensor_dict.h"

namespace belfry {

// Writes PREFIX.index and PREFIX.data-00000-of-00001, which tf.train.load_checkpoint and CheckpointReader read. Used by
// one thread.
//
// Both are written under temporary names; finish() syncs them and renames the index last: where there is an index, the
// checkpoint is complete. A checkpoint of the same prefix is replaced without a moment at which neither can be read: an
// index cannot be renamed together with its data, so the new data go by another name, PREFIX.data-00000-of-00002 with
// an empty second shard (and those of the next replacement by the first name again).
class CheckpointWriter {
 public:
  // The folder of `prefix` has to be there: else kNotFound. `files` must outlive this.
  explicit CheckpointWriter(std::string prefix, FileSystem& files = posix_file_system());
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;
  // Removes the temporary files when finish() was not reached.
  ~CheckpointWriter();

  // Tensors of any device and layout in memory; their values are written now. The name is taken as it is: whether it is
  // a legal one is for the caller to check. kInvalidArgument for an empty name or an undefined tensor, kAlreadyExists
  // for a name that was added before, kUnimplemented, with the type, for a tensor that is sparse, quantized or of a
  // type that TensorFlow does not have; after these the writer can be used on. kIo ends it.
  void add(const std::string& name, const Value& value);

  // Makes the checkpoint visible. kFailedPrecondition after an earlier kIo, or when called twice.
  void finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace belfry
