// Shapes of graph values; kFreeSize stands for what is only known when the graph runs.
#pragma once

#include <cstdint>
#include <vector>

namespace belfry::internal {

using Shape = std::vector<int64_t>;

// kInvalidArgument when neither has size 1 where they differ. A free size against a number above 1 is that number.
Shape broadcast_shapes(const Shape& a, const Shape& b);

// Every axis in [0, rank), from one in [-rank, rank); kInvalidArgument outside.
int64_t positive_axis(int64_t axis, int64_t rank);
std::vector<int64_t> positive_axes(const std::vector<int64_t>& axes, int64_t rank);

// Without `axes`, or with size 1 there.
Shape reduced_shape(const Shape& shape, const std::vector<int64_t>& axes, bool keep);

// Of a window that moves over `size` padded numbers; free for a free size.
struct Window {
  int64_t kernel;
  int64_t stride = 1;
  int64_t before = 0;
  int64_t after = 0;
  int64_t dilation = 1;
  bool ceil = false;  // a last window may hang over the end, but not begin there
};
int64_t window_count(int64_t size, const Window& window);

}  // namespace belfry::internal
