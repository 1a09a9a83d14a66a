// Images made larger and smaller.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "export/internal/import/axis_matrix.h"
#include "export/internal/import/import_table.h"

namespace belfry::internal {
namespace {

using Integers = std::vector<int64_t>;

// How one axis is resized: LibTorch goes by a scale that the caller gave even where it is not the ratio of the sizes.
struct Resize {
  int64_t axis;
  int64_t from;
  int64_t to;
  double step;  // input positions for one output position
};

std::optional<double> given_scale(Call& call, size_t i) {
  static constexpr const char* kNames[3][3] = {
      {"scales", nullptr, nullptr}, {"scales_h", "scales_w", nullptr}, {"scales_d", "scales_h", "scales_w"}};
  if (const auto* list = call.item("scale_factors").get<Item::List>()) {
    const auto* scale = list->at(i).get<double>();
    return scale ? std::optional<double>(*scale) : std::nullopt;
  }
  const size_t axes = call.type().shape.size() - 2;
  const char* name = kNames[axes - 1][i];
  return name && call.has(name) ? std::optional<double>(call.number(name)) : std::nullopt;
}

std::vector<Resize> resizes_of(Call& call) {
  const GraphValue x = call.tensor(call.has("self") ? "self" : "input");
  const Integers to = call.type().shape;
  std::vector<Resize> resizes;
  for (int64_t axis = 2; axis < static_cast<int64_t>(to.size()); ++axis) {
    const int64_t from = fixed_size(call.graph(), x, axis);
    const auto scale = given_scale(call, axis - 2);
    resizes.push_back({axis, from, to[axis], scale && *scale > 0 ? 1 / *scale : static_cast<double>(from) / to[axis]});
  }
  return resizes;
}

GraphValue image(Call& call) { return call.tensor(call.has("self") ? "self" : "input"); }

bool goes_by_sizes(const std::vector<Resize>& resizes) {
  return std::all_of(resizes.begin(), resizes.end(), [](const Resize& r) {
    return std::abs(r.step * static_cast<double>(r.to) - static_cast<double>(r.from)) < 1e-9;
  });
}

Integers sizes_of(const std::vector<Resize>& resizes) {
  Integers sizes;
  for (const Resize& resize : resizes) sizes.push_back(resize.to);
  return sizes;
}

Item nearest(Call& call) {
  GraphBuilder& graph = call.graph();
  GraphValue x = image(call);
  const auto resizes = resizes_of(call);
  if (resizes.size() == 2 && goes_by_sizes(resizes)) {
    return graph.node(Operation::kResizeNearest, {x}, {{"size", sizes_of(resizes)}}, {call.type()})[0];
  }
  for (const Resize& resize : resizes) {
    const at::Tensor rows = at::arange(resize.to, at::kFloat).mul(static_cast<float>(resize.step)).floor();
    x = graph.gather(x, graph.constant(rows.to(at::kLong).clamp(0, resize.from - 1)), resize.axis);
  }
  return x;
}

// Input position of an output position.
double source(const Resize& resize, int64_t at, bool align_corners) {
  if (!align_corners) return (static_cast<double>(at) + 0.5) * resize.step - 0.5;
  return resize.to > 1 ? static_cast<double>(at * (resize.from - 1)) / static_cast<double>(resize.to - 1) : 0;
}

at::Tensor linear_matrix(const Resize& resize, bool align_corners) {
  at::Tensor matrix = at::zeros({resize.to, resize.from}, at::kDouble);
  auto weights = matrix.accessor<double, 2>();
  for (int64_t row = 0; row < resize.to; ++row) {
    const double place = std::max(0.0, source(resize, row, align_corners));
    const int64_t left = std::min(static_cast<int64_t>(place), resize.from - 1);
    const double part = place - static_cast<double>(left);
    weights[row][left] += 1 - part;
    weights[row][std::min(left + 1, resize.from - 1)] += part;
  }
  return matrix;
}

// Keys' kernel with a = -0.75, as LibTorch has it.
double cubic_weight(double distance) {
  constexpr double a = -0.75;
  const double d = std::abs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? (((d - 5) * d + 8) * d - 4) * a : 0;
}

at::Tensor cubic_matrix(const Resize& resize, bool align_corners) {
  at::Tensor matrix = at::zeros({resize.to, resize.from}, at::kDouble);
  auto weights = matrix.accessor<double, 2>();
  for (int64_t row = 0; row < resize.to; ++row) {
    const double place = source(resize, row, align_corners);
    const auto left = static_cast<int64_t>(std::floor(place));
    for (int64_t column = left - 1; column <= left + 2; ++column) {
      const int64_t inside = std::clamp<int64_t>(column, 0, resize.from - 1);
      weights[row][inside] += cubic_weight(place - static_cast<double>(column));
    }
  }
  return matrix;
}

Item by_matrices(Call& call, const std::vector<Resize>& resizes, at::Tensor (*matrix_of)(const Resize&, bool)) {
  GraphValue x = image(call);
  for (const Resize& resize : resizes) {
    const at::Tensor matrix = matrix_of(resize, call.flag("align_corners"));
    x = multiply_axis(call.graph(), x, resize.axis, matrix);
  }
  return x;
}

Item linear(Call& call) {
  const auto resizes = resizes_of(call);
  const bool align_corners = call.flag("align_corners");
  if (resizes.size() != 2 || !(align_corners || goes_by_sizes(resizes)))
    return by_matrices(call, resizes, linear_matrix);
  return call.graph().node(Operation::kResizeLinear, {image(call)},
                           {{"size", sizes_of(resizes)}, {"align_corners", align_corners}}, {call.type()})[0];
}

Item cubic(Call& call) { return by_matrices(call, resizes_of(call), cubic_matrix); }

}  // namespace

void add_resizing(ImportTable& table) {
  table.insert({{"upsample_nearest1d", nearest},
                {"upsample_nearest2d", nearest},
                {"upsample_nearest3d", nearest},
                {"upsample_linear1d", linear},
                {"upsample_bilinear2d", linear},
                {"upsample_trilinear3d", linear},
                {"upsample_bicubic2d", cubic}});
}

}  // namespace belfry::internal
