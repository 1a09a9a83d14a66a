// Reductions, and what runs along one axis.
#include <ATen/ATen.h>

#include "export/internal/tensorflow/lowering.h"

namespace belfry::internal {
namespace {

void lower_reduction(Lowering& lowering, const GraphNode& node, const char* name) {
  const bool of_bool = node.operation == Operation::kAny || node.operation == Operation::kAll;
  const TfTensor x = of_bool ? lowering.input(node, 0) : lowering.kernel_input(node, 0, name);
  TfNode result = lowering.out().node(name);
  result.input(x).input(lowering.out().int32s(node.attributes.integers("axes")));
  if (!of_bool) result.type("T", x.dtype);
  if (node.attributes.flag("keep")) result.flag("keep_dims", true);
  lowering.set(node, result.output(x.dtype));
}

void lower_sum(Lowering& lowering, const GraphNode& node) { lower_reduction(lowering, node, "Sum"); }
void lower_mean(Lowering& lowering, const GraphNode& node) { lower_reduction(lowering, node, "Mean"); }
void lower_product(Lowering& lowering, const GraphNode& node) { lower_reduction(lowering, node, "Prod"); }
void lower_max(Lowering& lowering, const GraphNode& node) { lower_reduction(lowering, node, "Max"); }
void lower_min(Lowering& lowering, const GraphNode& node) { lower_reduction(lowering, node, "Min"); }
void lower_any(Lowering& lowering, const GraphNode& node) { lower_reduction(lowering, node, "Any"); }
void lower_all(Lowering& lowering, const GraphNode& node) { lower_reduction(lowering, node, "All"); }

void lower_arg_reduction(Lowering& lowering, const GraphNode& node) {
  GraphDefBuilder& out = lowering.out();
  const TfTensor x = lowering.input(node, 0);
  const int64_t axis = node.attributes.integer("axis");
  const TfTensor result = out.node(node.operation == Operation::kArgMax ? "ArgMax" : "ArgMin")
                              .input(x)
                              .input(out.int32(axis))
                              .type("T", x.dtype)
                              .output(at::kLong);
  lowering.set(node, node.attributes.flag("keep") ? out.expand_dims(result, axis) : result);
}

void lower_cumulative_sum(Lowering& lowering, const GraphNode& node) {
  const TfTensor axis = lowering.out().int32(node.attributes.integer("axis"));
  lowering.set(node, lowering.out().binary("Cumsum", lowering.kernel_input(node, 0, "Cumsum"), axis));
}

// TensorFlow's work on the last axis.
void lower_softmax(Lowering& lowering, const GraphNode& node) {
  GraphDefBuilder& out = lowering.out();
  const int64_t rank = lowering.result_type(node).rank();
  const int64_t axis = node.attributes.integer("axis");
  const char* name = node.operation == Operation::kSoftmax ? "Softmax" : "LogSoftmax";
  TfTensor x = lowering.input(node, 0);
  if (rank == 0) return lowering.set(node, out.reshape(out.unary(name, out.reshape(x, {1})), {}));
  const TfTensor result = out.unary(name, out.swap_axes(x, rank, axis, rank - 1));
  lowering.set(node, out.swap_axes(result, rank, axis, rank - 1));
}

// The other way round; without bounds, which -x has for integers, and -0 for unsigned ones.
TfTensor in_other_order(GraphDefBuilder& out, const TfTensor& x) {
  return out.unary(at::isIntegralType(x.dtype, false) ? "Invert" : "Neg", x);
}

// The k smallest are the k greatest in the other order.
void lower_top_k(Lowering& lowering, const GraphNode& node) {
  GraphDefBuilder& out = lowering.out();
  const int64_t rank = lowering.type(node, 0).rank();
  const int64_t axis = node.attributes.integer("axis");
  const bool largest = node.attributes.flag("largest");
  TfTensor x = out.swap_axes(lowering.kernel_input(node, 0, "TopKV2"), rank, axis, rank - 1);
  if (!largest) x = in_other_order(out, x);
  const TfNode top = out.node("TopKV2").input(x).input(out.cast(lowering.input(node, 1), at::kInt)).type("T", x.dtype);
  const TfTensor values = largest ? top.output(x.dtype) : in_other_order(out, top.output(x.dtype));
  lowering.set(node, out.swap_axes(values, rank, axis, rank - 1));
  lowering.set(node, out.cast(out.swap_axes(top.output(at::kInt, 1), rank, axis, rank - 1), at::kLong), 1);
}

}  // namespace

void add_reduction_lowerings(LoweringTable& table) {
  table.insert({{Operation::kSum, lower_sum},
                {Operation::kMean, lower_mean},
                {Operation::kProduct, lower_product},
                {Operation::kMax, lower_max},
                {Operation::kMin, lower_min},
                {Operation::kAny, lower_any},
                {Operation::kAll, lower_all},
                {Operation::kArgMax, lower_arg_reduction},
                {Operation::kArgMin, lower_arg_reduction},
                {Operation::kCumulativeSum, lower_cumulative_sum},
                {Operation::kSoftmax, lower_softmax},
                {Operation::kLogSoftmax, lower_softmax},
                {Operation::kTopK, lower_top_k}});
}

}  // namespace belfry::internal
