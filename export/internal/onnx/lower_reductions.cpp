// Reductions, and what runs along one axis.
#include <ATen/ATen.h>

#include "export/internal/onnx/kernel_dtype.h"
#include "export/internal/onnx/lowering.h"

namespace belfry::internal::onnx {
namespace {

const char* reduction_name(Operation operation) {
  static const std::unordered_map<Operation, const char*> names{
      {Operation::kSum, "ReduceSum"}, {Operation::kMean, "ReduceMean"}, {Operation::kProduct, "ReduceProd"},
      {Operation::kMax, "ReduceMax"}, {Operation::kMin, "ReduceMin"},   {Operation::kAny, "ReduceMax"},
      {Operation::kAll, "ReduceMin"}};
  return names.at(operation);
}

// Of bools by way of integers.
void lower_reduction(Lowering& lowering, const GraphNode& node) {
  lowering.set(node, lowering.out().reduce(reduction_name(node.operation), lowering.input(node, 0),
                                           node.attributes.integers("axes"), node.attributes.flag("keep")));
}

void lower_arg_reduction(Lowering& lowering, const GraphNode& node) {
  const char* name = node.operation == Operation::kArgMax ? "ArgMax" : "ArgMin";
  const Tensor x = lowering.input(node, 0, kernel_dtype(name, lowering.type(node, 0).dtype));
  lowering.set(node, lowering.out()
                         .node(name, {x})
                         .integer("axis", node.attributes.integer("axis"))
                         .integer("keepdims", node.attributes.flag("keep") ? 1 : 0)
                         .output(at::kLong));
}

void lower_cumulative_sum(Lowering& lowering, const GraphNode& node) {
  const Tensor x = lowering.input(node, 0, kernel_dtype("CumSum", lowering.type(node, 0).dtype));
  const Tensor axis = lowering.out().scalar(node.attributes.integer("axis"), at::kLong);
  lowering.set(node, lowering.out().node("CumSum", {x, axis}).output(x.dtype));
}

void lower_softmax(Lowering& lowering, const GraphNode& node) {
  OnnxBuilder& out = lowering.out();
  const char* name = node.operation == Operation::kSoftmax ? "Softmax" : "LogSoftmax";
  const bool scalar = lowering.result_type(node).rank() == 0;
  Tensor x = lowering.input(node, 0, kernel_dtype(name, lowering.type(node, 0).dtype));
  if (scalar) x = out.reshape(x, {1});
  const Tensor y = out.node(name, {x}).integer("axis", node.attributes.integer("axis")).output(x.dtype);
  lowering.set(node, scalar ? out.reshape(y, {}) : y);
}

void lower_top_k(Lowering& lowering, const GraphNode& node) {
  const Tensor x = lowering.input(node, 0, kernel_dtype("TopK", lowering.type(node, 0).dtype));
  const Tensor k = lowering.as_vector(node, 1);
  const Node top = lowering.out()
                       .node("TopK", {x, k}, 2)
                       .integer("axis", node.attributes.integer("axis"))
                       .integer("largest", node.attributes.flag("largest") ? 1 : 0)
                       .integer("sorted", 1);
  lowering.set(node, top.output(x.dtype));
  lowering.set(node, top.output(at::kLong, 1), 1);
}

}  // namespace

void add_reduction_lowerings(LoweringTable& table) {
  for (const Operation operation : {Operation::kSum, Operation::kMean, Operation::kProduct, Operation::kMax,
                                    Operation::kMin, Operation::kAny, Operation::kAll}) {
    table[operation] = lower_reduction;
  }
  table.insert({{Operation::kArgMax, lower_arg_reduction},
                {Operation::kArgMin, lower_arg_reduction},
                {Operation::kCumulativeSum, lower_cumulative_sum},
                {Operation::kSoftmax, lower_softmax},
                {Operation::kLogSoftmax, lower_softmax},
                {Operation::kTopK, lower_top_k}});
}

}  // namespace belfry::internal::onnx
