// What feature columns are to a deep network: named pieces of its input.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../../core/tensor_dict.h"

namespace belfry {

class ModelContext;

// Makes numbers of features. Immutable, so threads may share one; columns are held by pointer and may be used in
// several models. Subclass it for a column of your own.
class DenseColumn {
 public:
  virtual ~DenseColumn() = default;

  // Unique among the columns of a model, and part of the names of the column's variables.
  virtual std::string name() const = 0;
  // How many numbers a row gets.
  virtual int64_t width() const = 0;
  // float32 [batch, width()], differentiable where the column has variables.
  virtual at::Tensor dense(const Features& features, ModelContext& ctx) const = 0;
};

using DenseColumns = std::vector<std::shared_ptr<const DenseColumn>>;

}  // namespace belfry
