// Normalization layers.
#include <ATen/ATen.h>

#include "export/internal/import/import_table.h"

namespace belfry::internal {
namespace {

// A number for each channel, as [channels, 1, ...].
GraphValue per_channel(GraphBuilder& graph, GraphValue numbers, int64_t rank) {
  Extents shape(std::max<int64_t>(rank - 1, 1), Extent(1));
  shape[0] = graph.size(numbers, 0);
  return graph.reshape(numbers, shape);
}

GraphValue with_affine(Call& call, GraphValue x) {
  GraphBuilder& graph = call.graph();
  const int64_t rank = graph.rank(x);
  if (call.has("weight")) x = graph.binary(Operation::kMultiply, x, per_channel(graph, call.tensor("weight"), rank));
  if (call.has("bias")) x = graph.binary(Operation::kAdd, x, per_channel(graph, call.tensor("bias"), rank));
  return x;
}

// With the batch's own mean and variance.
Item normalize_by_batch(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue x = call.tensor("input");
  std::vector<int64_t> axes{0};
  for (int64_t axis = 2; axis < graph.rank(x); ++axis) axes.push_back(axis);
  const GraphValue distance = graph.binary(Operation::kSubtract, x, graph.reduce(Operation::kMean, x, axes, true));
  const GraphValue variance = graph.reduce(Operation::kMean, graph.unary(Operation::kSquare, distance), axes, true);
  const GraphValue scale = graph.unary(Operation::kRsqrt, graph.binary(Operation::kAdd, variance, call.number("eps")));
  return with_affine(call, graph.binary(Operation::kMultiply, distance, scale));
}

GraphValue normalize_by_statistics(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue mean = call.tensor("running_mean");
  const at::Tensor ones = at::ones(graph.type(mean).shape, at::TensorOptions(graph.type(mean).dtype));
  const GraphValue scale = call.has("weight") ? call.tensor("weight") : graph.constant(ones);
  const GraphValue shift = call.has("bias") ? call.tensor("bias") : graph.constant(at::zeros_like(ones));
  return graph.node(Operation::kBatchNormalization,
                    {call.tensor("input"), scale, shift, mean, call.tensor("running_var")},
                    {{"epsilon", call.number("eps")}}, {call.type()})[0];
}

Item batch_norm(Call& call) {
  if (!call.has("running_mean")) return normalize_by_batch(call);
  if (call.flag("training")) refuse_call("it is in training mode");
  return normalize_by_statistics(call);
}

GraphValue normalize_last(Call& call, GraphValue x, int64_t axes_count) {
  return call.graph().node(Operation::kLayerNormalization, {x},
                           {{"axes_count", axes_count}, {"epsilon", call.number_or("eps", 1e-5)}},
                           {call.graph().type(x)})[0];
}

Item layer_norm(Call& call) {
  GraphBuilder& graph = call.graph();
  const auto axes = static_cast<int64_t>(call.extents("normalized_shape").size());
  GraphValue x = normalize_last(call, call.tensor("input"), axes);
  if (call.has("weight")) x = graph.binary(Operation::kMultiply, x, call.tensor("weight"));
  return call.has("bias") ? graph.binary(Operation::kAdd, x, call.tensor("bias")) : x;
}

Item by_groups(Call& call, int64_t groups) {
  GraphBuilder& graph = call.graph();
  const GraphValue x = call.tensor("input");
  Extent count = graph.quotient(graph.size(x, 1), groups);
  for (int64_t axis = 2; axis < graph.rank(x); ++axis) count = graph.product(count, graph.size(x, axis));
  const GraphValue grouped = graph.reshape(x, {graph.size(x, 0), groups, count});
  return with_affine(call, graph.reshape(normalize_last(call, grouped, 1), graph.sizes(x)));
}

Item group_norm(Call& call) { return by_groups(call, call.integer("num_groups")); }

Item instance_norm(Call& call) {
  if (!call.flag_or("use_input_stats", true)) return normalize_by_statistics(call);
  return by_groups(call, call.graph().type(call.tensor("input")).shape.at(1));
}

// x / sqrt(mean(x^2) + eps)
Item rms_norm(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue x = call.tensor("input");
  std::vector<int64_t> axes;
  for (size_t i = 1; i <= call.extents("normalized_shape").size(); ++i) axes.push_back(-static_cast<int64_t>(i));
  const double epsilon = at::isReducedFloatingType(call.dtype()) || call.dtype() == at::kFloat
                             ? std::numeric_limits<float>::epsilon()
                             : std::numeric_limits<double>::epsilon();
  const GraphValue mean = graph.reduce(Operation::kMean, graph.unary(Operation::kSquare, x), axes, true);
  const GraphValue sum = graph.binary(Operation::kAdd, mean, call.number_or("eps", epsilon));
  const GraphValue result = graph.binary(Operation::kMultiply, x, graph.unary(Operation::kRsqrt, sum));
  return call.has("weight") ? graph.binary(Operation::kMultiply, result, call.tensor("weight")) : result;
}

}  // namespace

void add_normalization(ImportTable& table) {
  table.insert({{"batch_norm", batch_norm},
                {"layer_norm", layer_norm},
                {"group_norm", group_norm},
                {"instance_norm", instance_norm},
                {"rms_norm", rms_norm}});
}

}  // namespace belfry::internal
