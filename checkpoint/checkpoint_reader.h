// Reads a checkpoint of TensorFlow's V2 format, as tf.train.Saver, tf.estimator and CheckpointWriter write it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../core/file_system.h"
#include "../core/string_tensor.h"
#include "../core/tensor_dict.h"

namespace belfry {

// What a checkpoint says about a variable.
struct CheckpointVariable {
  std::string name;
  at::ScalarType dtype = at::ScalarType::Undefined;  // Undefined for strings, and for types LibTorch does not have
  bool is_strings = false;
  std::vector<int64_t> shape;
};

// One checkpoint: PREFIX.index, which names the variables, and PREFIX.data-0000K-of-0000M, which hold their bytes.
// Variables that were saved in parts (partitioned) appear whole. Threads may share one object.
//
// Damage is kDataLoss and names the file, and the variable where there is one; no size is believed before it is
// compared with the size of the file. Big-endian checkpoints are kUnimplemented.
class CheckpointReader {
 public:
  // Reads the whole index, and compares it with the sizes of the data files; the data are read on demand, from files
  // that stay open, so that a checkpoint which is removed meanwhile can be read to its end. kNotFound when there is no
  // PREFIX.index. `files` must outlive this.
  explicit CheckpointReader(std::string prefix, FileSystem& files = posix_file_system());
  CheckpointReader(CheckpointReader&&) noexcept;
  CheckpointReader& operator=(CheckpointReader&&) noexcept;
  ~CheckpointReader();

  const std::string& prefix() const;
  // Sorted by name.
  const std::vector<CheckpointVariable>& variables() const;
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  // Null when there is none of that name. Lives as long as this.
  const CheckpointVariable* find(std::string_view name) const;

  // The value, on the CPU, in memory of its own; its checksum was compared. kNotFound, with the prefix, for a name that
  // is not there; kInvalidArgument when it holds the other kind; kUnimplemented for a type that LibTorch does not have.
  at::Tensor tensor(std::string_view name) const;
  StringTensor strings(std::string_view name) const;
  // Of either kind.
  Value value(std::string_view name) const;

  // Reads everything and compares all checksums. kDataLoss for the first that is wrong.
  void verify() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace belfry
