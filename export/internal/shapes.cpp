#include "export/internal/shapes.h"

#include <ATen/core/Tensor.h>

#include <algorithm>

#include "core/error.h"
#include "export/graph/graph.h"

namespace belfry::internal {
namespace {

int64_t broadcast_size(int64_t a, int64_t b, const Shape& left, const Shape& right) {
  if (a == b || b == 1) return a;
  if (a == 1) return b;
  if (a == kFreeSize) return b;
  if (b == kFreeSize) return a;
  fail(ErrorKind::kInvalidArgument, "shapes ", at::IntArrayRef(left), " and ", at::IntArrayRef(right),
       " do not broadcast");
}

}  // namespace

Shape broadcast_shapes(const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.size(), b.size());
  const auto size_at = [&](const Shape& shape, size_t axis) {
    const size_t missing = rank - shape.size();
    return axis < missing ? 1 : shape[axis - missing];
  };
  Shape result;
  for (size_t axis = 0; axis < rank; ++axis) {
    result.push_back(broadcast_size(size_at(a, axis), size_at(b, axis), a, b));
  }
  return result;
}

int64_t positive_axis(int64_t axis, int64_t rank) {
  const int64_t end = std::max<int64_t>(rank, 1);  // LibTorch takes axis 0 of a scalar
  require(axis >= -end && axis < end, "axis ", axis, " of a tensor of rank ", rank);
  return axis < 0 ? axis + end : axis;
}

std::vector<int64_t> positive_axes(const std::vector<int64_t>& axes, int64_t rank) {
  std::vector<int64_t> result;
  for (const int64_t axis : axes) result.push_back(positive_axis(axis, rank));
  return result;
}

Shape reduced_shape(const Shape& shape, const std::vector<int64_t>& axes, bool keep) {
  Shape result;
  for (int64_t axis = 0; axis < static_cast<int64_t>(shape.size()); ++axis) {
    const bool gone = std::find(axes.begin(), axes.end(), axis) != axes.end();
    if (!gone) result.push_back(shape[axis]);
    if (gone && keep) result.push_back(1);
  }
  return result;
}

int64_t window_count(int64_t size, const Window& window) {
  if (size == kFreeSize) return kFreeSize;
  const int64_t reach = window.dilation * (window.kernel - 1) + 1;
  const int64_t room = size + window.before + window.after - reach;
  if (!window.ceil) return room / window.stride + 1;
  const int64_t count = (room + window.stride - 1) / window.stride + 1;
  return (count - 1) * window.stride >= size + window.before ? count - 1 : count;
}

}  // namespace belfry::internal
