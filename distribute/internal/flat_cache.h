// Copies of variables on another device.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "distribute/variable.h"

namespace belfry::internal {

// Keeps tensors of one device equal to variables that lie on others. The tensors of one dtype show pieces of one block
// of memory, so that a step in which all variables have changed costs one transfer. Used by one thread at a time.
class FlatCache {
 public:
  explicit FlatCache(at::Device device) : device_(device) {}

  // From now on `tensor` follows the variable: refresh() points it into the block (set_data), in the variable's layout.
  void add(const Variable& variable, const at::Tensor& tensor);
  // For tensors that are not needed any more.
  void clear();
  // Copies every variable that has changed since.
  void refresh();
  // How many copies between devices have been made so far.
  int64_t transfers() const { return transfers_; }

 private:
  struct Entry {
    const Variable* variable;
    at::Tensor tensor;
    uint64_t version = 0;
    at::Tensor staged = {};  // the variable's place in the block that is sent
    at::Tensor copied = {};  // and in the one that is received
  };
  // Of one dtype and one device to copy from.
  struct Block {
    at::Tensor sent;
    at::Tensor received;
    std::vector<size_t> entries;
  };

  void rebuild();
  void lay_out(Block& block);
  void refresh(Block& block);

  at::Device device_;
  std::vector<Entry> entries_;
  std::vector<Block> blocks_;
  bool laid_out_ = true;
  int64_t transfers_ = 0;
};

}  // namespace belfry::internal
