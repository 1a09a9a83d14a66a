// Gathering and scattering. TensorFlow's kernels take indices from the start alone, which the graph has.
#include <ATen/ATen.h>

#include <limits>

#include "export/internal/tensorflow/lowering.h"

namespace belfry::internal {
namespace {

TfTensor gather(GraphDefBuilder& out, const TfTensor& x, const TfTensor& indices, int64_t axis, int64_t batch_axes) {
  TfNode node = out.node("GatherV2");
  node.inputs({x, indices, out.int32(axis)}).type("Tparams", x.dtype).type("Tindices", indices.dtype);
  node.type("Taxis", at::kInt);
  if (batch_axes > 0) node.integer("batch_dims", batch_axes);
  return node.output(x.dtype);
}

void lower_gather(Lowering& lowering, const GraphNode& node) {
  lowering.set(node, gather(lowering.out(), lowering.input(node, 0), lowering.input(node, 1),
                            node.attributes.integer("axis"), 0));
}

// The indices may be fewer than the elements on the other axes, whose first ones then count.
TfTensor cut_to_indices(Lowering& lowering, const GraphNode& node, int64_t axis) {
  GraphDefBuilder& out = lowering.out();
  const TfTensor x = lowering.input(node, 0);
  const std::vector<int64_t>& whole = lowering.type(node, 0).shape;
  const std::vector<int64_t>& wanted = lowering.type(node, 1).shape;
  bool fits = true;
  for (size_t other = 0; other < whole.size(); ++other) {
    const bool same = wanted[other] != kFreeSize && wanted[other] == whole[other];
    fits = fits && (same || static_cast<int64_t>(other) == axis);
  }
  if (fits) return x;
  const auto rank = static_cast<int64_t>(whole.size());
  return out.node("StridedSlice")
      .inputs({x, out.int64s(std::vector<int64_t>(rank, 0)), out.shape(lowering.input(node, 1)),
               out.int64s(std::vector<int64_t>(rank, 1))})
      .type("T", x.dtype)
      .type("Index", at::kLong)
      .integer("end_mask", int64_t{1} << axis)
      .output(x.dtype);
}

void lower_gather_elements(Lowering& lowering, const GraphNode& node) {
  GraphDefBuilder& out = lowering.out();
  const int64_t rank = lowering.type(node, 0).rank();
  const int64_t axis = node.attributes.integer("axis");
  const TfTensor x = out.swap_axes(cut_to_indices(lowering, node, axis), rank, axis, rank - 1);
  const TfTensor indices = out.swap_axes(lowering.input(node, 1), rank, axis, rank - 1);
  lowering.set(node, out.swap_axes(gather(out, x, indices, rank - 1, rank - 1), rank, axis, rank - 1));
}

void lower_gather_nd(Lowering& lowering, const GraphNode& node) {
  const TfTensor x = lowering.input(node, 0);
  lowering.set(node, lowering.out()
                         .node("GatherNd")
                         .input(x)
                         .input(lowering.input(node, 1))
                         .type("Tparams", x.dtype)
                         .type("Tindices", at::kLong)
                         .output(x.dtype));
}

TfTensor places_where(GraphDefBuilder& out, const TfTensor& mask) {
  return out.node("Where").input(mask).output(at::kLong);  // its T is bool when not written
}

void lower_non_zero(Lowering& lowering, const GraphNode& node) {
  lowering.set(node, places_where(lowering.out(), lowering.input(node, 0)));
}

// The places of all updates are those of a mask that is true everywhere, with one column exchanged for the indices.
void lower_scatter_elements(Lowering& lowering, const GraphNode& node) {
  GraphDefBuilder& out = lowering.out();
  const TfTensor indices = lowering.input(node, 1);
  const int64_t rank = lowering.type(node, 1).rank();
  const TfTensor all = {out.binary("GreaterEqual", indices, std::numeric_limits<int64_t>::min()).name, at::kBool};
  const TfTensor places = places_where(out, all);
  std::vector<TfTensor> columns;
  for (int64_t axis = 0; axis < rank; ++axis) {
    columns.push_back(axis == node.attributes.integer("axis")
                          ? out.reshape(indices, {-1})
                          : out.squeeze(out.slice(places, 2, 1, axis, axis + 1), {1}));
  }
  const char* name = node.attributes.contains("reduce") ? "TensorScatterAdd" : "TensorScatterUpdate";
  const TfTensor x = lowering.kernel_input(node, 0, name);
  const TfTensor updates = out.reshape(lowering.kernel_input(node, 2, name), {-1});
  lowering.set(node, out.node(name)
                         .inputs({x, out.pack(columns, 1), updates})
                         .type("T", x.dtype)
                         .type("Tindices", at::kLong)
                         .output(x.dtype));
}

void lower_one_hot(Lowering& lowering, const GraphNode& node) {
  GraphDefBuilder& out = lowering.out();
  lowering.set(node, out.node("OneHot")
                         .inputs({lowering.input(node, 0), out.int32(node.attributes.integer("depth")),
                                  out.scalar(1, at::kLong), out.scalar(0, at::kLong)})
                         .type("T", at::kLong)
                         .output(at::kLong));
}

}  // namespace

void add_indexing_lowerings(LoweringTable& table) {
  table.insert({{Operation::kGather, lower_gather},
                {Operation::kGatherElements, lower_gather_elements},
                {Operation::kGatherNd, lower_gather_nd},
                {Operation::kNonZero, lower_non_zero},
                {Operation::kScatterElements, lower_scatter_elements},
                {Operation::kOneHot, lower_one_hot}});
}

}  // namespace belfry::internal
