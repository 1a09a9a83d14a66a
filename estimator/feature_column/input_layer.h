// The input of a deep network from its columns.
#pragma once

#include "dense_column.h"

namespace belfry::feature_column {

// The columns in the order of their names, which is that of the input's numbers. kInvalidArgument for no columns, an
// absent one, or two of one name.
DenseColumns sorted_by_name(DenseColumns columns);

// Numbers a row of all columns together.
int64_t total_width(const DenseColumns& columns);

// All columns side by side in the order given: float32 [batch, total_width(columns)]. kInvalidArgument, naming the two,
// when columns differ in rows or one has not the width that it says; and for features that are a lone tensor.
at::Tensor input_layer(const Features& features, const DenseColumns& columns, ModelContext& ctx);

}  // namespace belfry::feature_column
