// Columns in memory.
#pragma once

#include "data/internal/row_source.h"

namespace belfry::data_internal {

class TensorSource : public RowSource {
 public:
  // Checks and adopts the columns, see Dataset::from_tensors. `origin` opens the description.
  TensorSource(Features features, Labels labels, std::string origin);

  std::string describe() const override;
  std::optional<ElementSpec> element_spec() const override;
  int64_t rows() const override { return rows_; }
  Batch row(int64_t i) const override;
  Batch range(int64_t start, int64_t step, int64_t count) const override;
  Batch select(const at::Tensor& indices) const override;

 private:
  Batch columns_;
  int64_t rows_ = 0;
  std::string origin_;
};

}  // namespace belfry::data_internal
