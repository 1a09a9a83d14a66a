#include "checkpoint/internal/tensor_slices.h"

#include "checkpoint/internal/bundle_index.h"

namespace belfry {
namespace {

bool inside(const SliceBox& box, const std::vector<int64_t>& shape) {
  if (box.start.size() != shape.size()) return false;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (box.start[d] < 0 || box.length[d] < 0 || box.start[d] > shape[d] || box.length[d] > shape[d] - box.start[d]) {
      return false;
    }
  }
  return true;
}

bool overlap(const SliceBox& a, const SliceBox& b) {
  for (size_t d = 0; d < a.start.size(); ++d) {
    if (a.start[d] >= b.start[d] + b.length[d] || b.start[d] >= a.start[d] + a.length[d]) return false;
  }
  return true;
}

}  // namespace

SliceBox slice_box(const proto::TensorSliceProto& slice, const std::vector<int64_t>& shape) {
  SliceBox box;
  if (static_cast<size_t>(slice.extent_size()) != shape.size()) return box;
  for (int d = 0; d < slice.extent_size(); ++d) {
    const auto& extent = slice.extent(d);
    const bool whole = extent.has_length_case() == proto::TensorSliceProto::Extent::HAS_LENGTH_NOT_SET;
    box.start.push_back(whole ? 0 : extent.start());
    box.length.push_back(whole ? shape[static_cast<size_t>(d)] : extent.length());
  }
  return box;
}

const char* check_boxes(const std::vector<SliceBox>& boxes, const std::vector<int64_t>& shape) {
  int64_t missing = count_of(shape);
  std::vector<const SliceBox*> filled;
  for (const SliceBox& box : boxes) {
    if (!inside(box, shape)) return "a part lies outside its shape";
    const int64_t count = count_of(box.length);
    missing -= count;
    if (missing < 0) return "two of its parts overlap";  // they hold more than it does
    if (count > 0) filled.push_back(&box);
  }
  if (missing != 0) return "its parts do not fill its shape";
  for (size_t i = 0; i < filled.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (overlap(*filled[i], *filled[j])) return "two of its parts overlap";
    }
  }
  return nullptr;
}

}  // namespace belfry
