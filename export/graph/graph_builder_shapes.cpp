#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/error.h"
#include "export/graph/graph_builder.h"
#include "export/internal/shapes.h"

namespace belfry {
namespace {

using internal::positive_axes;
using internal::positive_axis;
using internal::Shape;

const int64_t* number(const Extent& extent) { return std::get_if<int64_t>(&extent); }

Shape known_shape(const Extents& extents) {
  Shape shape;
  for (const Extent& extent : extents) shape.push_back(number(extent) ? *number(extent) : kFreeSize);
  return shape;
}

bool all_known(const Shape& shape) { return std::find(shape.begin(), shape.end(), kFreeSize) == shape.end(); }

int64_t product_of(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

// A single size that is not known is written -1, which needs no computation when the graph runs.
Extents with_one_inferred(Extents shape) {
  const auto unknown = [](const Extent& extent) { return !number(extent) || *number(extent) == kFreeSize; };
  const auto is_zero = [](const Extent& extent) { return number(extent) && *number(extent) == 0; };
  if (std::count_if(shape.begin(), shape.end(), unknown) != 1) return shape;
  if (std::any_of(shape.begin(), shape.end(), is_zero)) return shape;
  *std::find_if(shape.begin(), shape.end(), unknown) = kFreeSize;
  return shape;
}

// The size that -1 stands for, where all others are known.
void infer_size(Shape& shape, const Shape& from) {
  if (!all_known(from) || std::count(shape.begin(), shape.end(), kFreeSize) != 1) return;
  const int64_t known = -product_of(shape);
  if (known > 0) *std::find(shape.begin(), shape.end(), kFreeSize) = product_of(from) / known;
}

// Number of elements of [begin, end) in steps, of an axis of `size`.
int64_t slice_count(int64_t size, const Extent& begin, const Extent& end, int64_t step) {
  if (size == kFreeSize || !number(begin) || !number(end)) return kFreeSize;
  const auto bounded = [size](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
  const int64_t count = bounded(*number(end)) - bounded(*number(begin));
  return count <= 0 ? 0 : (count + step - 1) / step;
}

}  // namespace

Extent GraphBuilder::size(GraphValue x, int64_t given) {
  const int64_t axis = positive_axis(given, rank(x));
  const int64_t known = type(x).shape.at(axis);
  if (known != kFreeSize) return known;
  return single(Operation::kSize, {x}, {{"axis", axis}}, {at::kLong, {}});
}

Extents GraphBuilder::sizes(GraphValue x) {
  Extents all;
  for (int64_t axis = 0; axis < rank(x); ++axis) all.push_back(size(x, axis));
  return all;
}

Extent GraphBuilder::product(const Extent& a, const Extent& b) {
  if (number(a) && number(b)) return *number(a) * *number(b);
  if (number(a) && *number(a) == 1) return b;
  if (number(b) && *number(b) == 1) return a;
  return binary(Operation::kMultiply, scalar_of(a), scalar_of(b));
}

Extent GraphBuilder::sum(const Extent& a, const Extent& b) {
  if (number(a) && number(b)) return *number(a) + *number(b);
  return binary(Operation::kAdd, scalar_of(a), scalar_of(b));
}

Extent GraphBuilder::quotient(const Extent& a, int64_t b) {
  require(b > 0, "a size divided by ", b);
  if (number(a)) return *number(a) / b;
  return b == 1 ? a : binary(Operation::kFloorDivide, scalar_of(a), b);
}

GraphValue GraphBuilder::scalar_of(const Extent& extent) {
  return number(extent) ? scalar(*number(extent), at::kLong) : std::get<GraphValue>(extent);
}

GraphValue GraphBuilder::vector_of(const Extents& extents) {
  std::vector<GraphValue> scalars;
  std::vector<int64_t> numbers;
  for (const Extent& extent : extents) {
    if (number(extent)) numbers.push_back(*number(extent));
  }
  if (numbers.size() == extents.size()) return integers(numbers);
  for (const Extent& extent : extents) scalars.push_back(scalar_of(extent));
  return stack(scalars, 0);
}

GraphValue GraphBuilder::stack(const std::vector<GraphValue>& values, int64_t given) {
  require(!values.empty(), "stack of nothing");
  GraphType result = type(values[0]);
  const int64_t axis = positive_axis(given, result.rank() + 1);
  for (const GraphValue value : values) {
    require(type(value).dtype == result.dtype && rank(value) == result.rank(), "stack of ", to_string(result), " and ",
            to_string(type(value)));
  }
  result.shape.insert(result.shape.begin() + axis, static_cast<int64_t>(values.size()));
  return single(Operation::kStack, values, {{"axis", axis}}, result);
}

GraphValue GraphBuilder::reshape(GraphValue x, const Extents& wanted) {
  const Extents shape = with_one_inferred(wanted);
  Shape known = known_shape(shape);
  infer_size(known, type(x).shape);
  if (all_known(known) && known == type(x).shape) return x;
  return single(Operation::kReshape, {x, vector_of(shape)}, {}, {type(x).dtype, known});
}

GraphValue GraphBuilder::transpose(GraphValue x, const std::vector<int64_t>& given) {
  const std::vector<int64_t> permutation = positive_axes(given, rank(x));
  require(static_cast<int64_t>(permutation.size()) == rank(x), "transpose of ", to_string(type(x)), " by ",
          at::IntArrayRef(permutation));
  if (std::is_sorted(permutation.begin(), permutation.end())) return x;
  Shape shape;
  for (const int64_t axis : permutation) shape.push_back(type(x).shape[axis]);
  return single(Operation::kTranspose, {x}, {{"permutation", permutation}}, {type(x).dtype, shape});
}

GraphValue GraphBuilder::swap_axes(GraphValue x, int64_t a, int64_t b) {
  std::vector<int64_t> permutation(rank(x));
  std::iota(permutation.begin(), permutation.end(), 0);
  if (permutation.empty()) return x;
  std::swap(permutation[positive_axis(a, rank(x))], permutation[positive_axis(b, rank(x))]);
  return transpose(x, permutation);
}

GraphValue GraphBuilder::broadcast(GraphValue x, const Extents& shape) {
  const Shape known = known_shape(shape);
  if (all_known(known) && known == type(x).shape) return x;
  return single(Operation::kBroadcast, {x, vector_of(shape)}, {}, {type(x).dtype, known});
}

GraphValue GraphBuilder::squeeze(GraphValue x, const std::vector<int64_t>& given) {
  std::vector<int64_t> axes = positive_axes(given, rank(x));
  if (axes.empty()) return x;
  std::sort(axes.begin(), axes.end());
  return single(Operation::kSqueeze, {x}, {{"axes", axes}},
                {type(x).dtype, internal::reduced_shape(type(x).shape, axes, false)});
}

GraphValue GraphBuilder::unsqueeze(GraphValue x, int64_t given) {
  const int64_t axis = positive_axis(given, rank(x) + 1);
  GraphType result = type(x);
  result.shape.insert(result.shape.begin() + axis, 1);
  return single(Operation::kUnsqueeze, {x}, {{"axes", std::vector<int64_t>{axis}}}, result);
}

GraphValue GraphBuilder::concatenate(const std::vector<GraphValue>& values, int64_t given) {
  require(!values.empty(), "concatenation of nothing");
  if (values.size() == 1) return values[0];
  GraphType result = type(values[0]);
  const int64_t axis = positive_axis(given, result.rank());
  int64_t size = 0;
  for (const GraphValue value : values) {
    const GraphType& part = type(value);
    require(part.dtype == result.dtype && part.rank() == result.rank() && part.rank() > 0, "concatenation of ",
            to_string(result), " and ", to_string(part));
    const bool free = size == kFreeSize || part.shape[axis] == kFreeSize;
    size = free ? kFreeSize : size + part.shape[axis];
  }
  result.shape[axis] = size;
  return single(Operation::kConcatenate, values, {{"axis", axis}}, result);
}

std::vector<GraphValue> GraphBuilder::split(GraphValue x, const std::vector<int64_t>& sizes, int64_t given) {
  const int64_t axis = positive_axis(given, rank(x));
  if (sizes.size() == 1) return {x};
  std::vector<GraphType> types;
  for (const int64_t size : sizes) {
    types.push_back(type(x));
    types.back().shape.at(axis) = size;
  }
  return node(Operation::kSplit, {x}, {{"axis", axis}, {"sizes", sizes}}, types);
}

GraphValue GraphBuilder::slice(GraphValue x, int64_t given, const Extent& begin, const Extent& end, int64_t step) {
  const int64_t axis = positive_axis(given, rank(x));
  require(step > 0, "a slice with step ", step);
  GraphType result = type(x);
  const bool all = number(begin) && *number(begin) == 0 && number(end) &&
                   *number(end) == std::numeric_limits<int64_t>::max() && step == 1;
  const int64_t count = slice_count(result.shape.at(axis), begin, end, step);
  if (all || (count == result.shape[axis] && count != kFreeSize && step == 1)) return x;
  result.shape[axis] = count;
  return single(Operation::kSlice, {x, scalar_of(begin), scalar_of(end)}, {{"axis", axis}, {"step", step}}, result);
}

GraphValue GraphBuilder::select_index(GraphValue x, int64_t axis, const Extent& index) {
  const bool last = number(index) && *number(index) == -1;
  const Extent end = last ? Extent(std::numeric_limits<int64_t>::max()) : sum(index, 1);
  const GraphValue one = slice(x, axis, index, end);
  GraphType known = type(one);
  known.shape.at(positive_axis(axis, rank(x))) = 1;
  refine(one, known);
  return squeeze(one, {axis});
}

GraphValue GraphBuilder::padded(Operation operation, std::vector<GraphValue> inputs, const std::vector<int64_t>& before,
                                const std::vector<int64_t>& after) {
  GraphType result = type(inputs[0]);
  require(before.size() == result.shape.size() && after.size() == result.shape.size(), "padding of ", to_string(result),
          " by ", at::IntArrayRef(before));
  const auto is_zero = [](int64_t count) { return count == 0; };
  if (std::all_of(before.begin(), before.end(), is_zero) && std::all_of(after.begin(), after.end(), is_zero)) {
    return inputs[0];
  }
  for (size_t axis = 0; axis < before.size(); ++axis) {
    if (result.shape[axis] != kFreeSize) result.shape[axis] += before[axis] + after[axis];
  }
  return single(operation, std::move(inputs), {{"before", before}, {"after", after}}, result);
}

GraphValue GraphBuilder::pad(GraphValue x, const std::vector<int64_t>& before, const std::vector<int64_t>& after,
                             const at::Scalar& value) {
  return padded(Operation::kPad, {x, scalar(value, type(x).dtype)}, before, after);
}

GraphValue GraphBuilder::mirror_pad(GraphValue x, const std::vector<int64_t>& before,
                                    const std::vector<int64_t>& after) {
  return padded(Operation::kMirrorPad, {x}, before, after);
}

GraphValue GraphBuilder::reverse(GraphValue x, const std::vector<int64_t>& axes) {
  return single(Operation::kReverse, {x}, {{"axes", positive_axes(axes, rank(x))}}, type(x));
}

GraphValue GraphBuilder::tile(GraphValue x, const std::vector<int64_t>& repeats) {
  GraphType result = type(x);
  require(repeats.size() == result.shape.size(), "tiling of ", to_string(result), " by ", at::IntArrayRef(repeats));
  for (size_t axis = 0; axis < repeats.size(); ++axis) {
    if (result.shape[axis] != kFreeSize) result.shape[axis] *= repeats[axis];
  }
  if (std::all_of(repeats.begin(), repeats.end(), [](int64_t times) { return times == 1; })) return x;
  return single(Operation::kTile, {x}, {{"repeats", repeats}}, result);
}

GraphValue GraphBuilder::band_part(GraphValue x, int64_t lower, int64_t upper) {
  return single(Operation::kBandPart, {x}, {{"lower", lower}, {"upper", upper}}, type(x));
}

GraphValue GraphBuilder::range(GraphValue start, GraphValue limit, GraphValue step) {
  return single(Operation::kRange, {start, limit, step}, {}, {type(start).dtype, {kFreeSize}});
}

}  // namespace belfry
