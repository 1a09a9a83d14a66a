// The parts of a partitioned variable.
#pragma once

#include <cstdint>
#include <vector>

#include "belfry/core/tensor_bundle.pb.h"

namespace belfry {

struct SliceBox {
  std::vector<int64_t> start;
  std::vector<int64_t> length;
};

// A dimension without a length is whole. Empty vectors when the slice has another rank than `shape`.
SliceBox slice_box(const proto::TensorSliceProto& slice, const std::vector<int64_t>& shape);

// Null when the boxes fill `shape` exactly and nowhere twice, or what is wrong.
const char* check_boxes(const std::vector<SliceBox>& boxes, const std::vector<int64_t>& shape);

}  // namespace belfry
