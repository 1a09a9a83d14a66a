// Padding, and channels that become pixels.
#include <ATen/ATen.h>

#include <algorithm>

#include "export/internal/import/import_table.h"

namespace belfry::internal {
namespace {

struct Margins {
  std::vector<int64_t> before;
  std::vector<int64_t> after;
};

// LibTorch writes pairs for the last axis first.
Margins margins_of(Call& call, int64_t rank) {
  const auto pairs = call.integers(call.has("pad") ? "pad" : "padding");
  Margins margins{std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, 0)};
  for (size_t i = 0; i < pairs.size() / 2; ++i) {
    margins.before.at(rank - 1 - i) = pairs[2 * i];
    margins.after.at(rank - 1 - i) = pairs[2 * i + 1];
  }
  return margins;
}

// Negative margins cut.
GraphValue cut(GraphBuilder& graph, GraphValue x, Margins& margins) {
  for (size_t axis = 0; axis < margins.before.size(); ++axis) {
    int64_t& before = margins.before[axis];
    int64_t& after = margins.after[axis];
    const Extent end = after < 0 ? Extent(after) : Extent(std::numeric_limits<int64_t>::max());
    x = graph.slice(x, static_cast<int64_t>(axis), std::max<int64_t>(0, -before), end);
    before = std::max<int64_t>(before, 0);
    after = std::max<int64_t>(after, 0);
  }
  return x;
}

Item pad_constant(Call& call) {
  GraphValue x = call.tensor("self");
  Margins margins = margins_of(call, call.graph().rank(x));
  x = cut(call.graph(), x, margins);
  return call.graph().pad(x, margins.before, margins.after, call.number_or("value", 0));
}

Item pad_reflect(Call& call) {
  const GraphValue x = call.tensor("self");
  const Margins margins = margins_of(call, call.graph().rank(x));
  return call.graph().mirror_pad(x, margins.before, margins.after);
}

// Rows of the axis that the padded tensor repeats: the nearest one, or the one that comes round again.
at::Tensor repeated_rows(int64_t size, int64_t before, int64_t after, bool circular) {
  const at::Tensor rows = at::arange(-before, size + after, at::kLong);
  return circular ? at::remainder(rows, size) : rows.clamp(0, size - 1);
}

Item pad_by_rows(Call& call, bool circular) {
  GraphBuilder& graph = call.graph();
  GraphValue x = call.tensor("self");
  const Margins margins = margins_of(call, graph.rank(x));
  for (int64_t axis = 0; axis < graph.rank(x); ++axis) {
    if (margins.before[axis] == 0 && margins.after[axis] == 0) continue;
    const int64_t size = graph.type(x).shape[axis];
    if (size == kFreeSize) refuse_call("it pads an axis that varies from request to request");
    const at::Tensor rows = repeated_rows(size, margins.before[axis], margins.after[axis], circular);
    x = graph.gather(x, graph.constant(rows), axis);
  }
  return x;
}

Item pad_replicate(Call& call) { return pad_by_rows(call, false); }

// LibTorch's at::padding_mode, which its functional::pad gives as a number.
std::string mode_of(Call& call) {
  static constexpr const char* kModes[] = {"reflect", "replicate", "circular", "constant"};
  if (!call.item("mode").get<int64_t>()) return call.text_or("mode", "constant");
  const int64_t number = call.integer("mode");
  if (number < 0 || number > 3) refuse_call("its mode is ", number);
  return kModes[number];
}

Item pad(Call& call) {
  const std::string mode = mode_of(call);
  if (mode == "constant") return pad_constant(call);
  return mode == "reflect" ? pad_reflect(call) : pad_by_rows(call, mode == "circular");
}

// [n, c * f * f, h, w] to [n, c, h * f, w * f], and back.
Item pixel_shuffle(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue x = call.tensor("self");
  const int64_t factor = call.integer("upscale_factor");
  if (graph.rank(x) != 4) refuse_call("its operand has rank ", graph.rank(x), " instead of 4");
  const Extents shape = graph.sizes(x);
  const Extent channels = graph.quotient(shape[1], factor * factor);
  const GraphValue apart = graph.reshape(x, {shape[0], channels, factor, factor, shape[2], shape[3]});
  return graph.reshape(graph.transpose(apart, {0, 1, 4, 2, 5, 3}),
                       {shape[0], channels, graph.product(shape[2], factor), graph.product(shape[3], factor)});
}

Item pixel_unshuffle(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue x = call.tensor("self");
  const int64_t factor = call.integer("downscale_factor");
  if (graph.rank(x) != 4) refuse_call("its operand has rank ", graph.rank(x), " instead of 4");
  const Extents shape = graph.sizes(x);
  const Extent height = graph.quotient(shape[2], factor);
  const Extent width = graph.quotient(shape[3], factor);
  const GraphValue apart = graph.reshape(x, {shape[0], shape[1], height, factor, width, factor});
  return graph.reshape(graph.transpose(apart, {0, 1, 3, 5, 2, 4}),
                       {shape[0], graph.product(shape[1], factor * factor), height, width});
}

}  // namespace

void add_padding(ImportTable& table) {
  table.insert({{"pad", pad},
                {"_pad_enum", pad},
                {"constant_pad_nd", pad_constant},
                {"reflection_pad1d", pad_reflect},
                {"reflection_pad2d", pad_reflect},
                {"reflection_pad3d", pad_reflect},
                {"replication_pad1d", pad_replicate},
                {"replication_pad2d", pad_replicate},
                {"replication_pad3d", pad_replicate},
                {"pixel_shuffle", pixel_shuffle},
                {"pixel_unshuffle", pixel_unshuffle}});
}

}  // namespace belfry::internal
