// Nodes with random access.
#pragma once

#include <ATen/core/Tensor.h>

#include "data/internal/node.h"

namespace belfry::data_internal {

// Elements are rows that can be had by number.
class RowSource : public Node {
 public:
  virtual int64_t rows() const = 0;
  virtual Batch row(int64_t i) const = 0;
  // Rows start, start + step … `count` of them, as a block.
  virtual Batch range(int64_t start, int64_t step, int64_t count) const = 0;
  // The rows with these numbers (int64, one dimension), as a block.
  virtual Batch select(const at::Tensor& indices) const = 0;

  int64_t cardinality() const final { return rows(); }
  bool batched() const final { return false; }
  std::unique_ptr<Stream> open(int64_t pass) const final;
};

// Null for a node that is a stream.
inline const RowSource* as_rows(const NodePtr& node) { return dynamic_cast<const RowSource*>(node.get()); }

}  // namespace belfry::data_internal
