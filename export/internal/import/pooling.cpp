// Pooling over one, two or three axes.
#include <ATen/ATen.h>

#include <numeric>

#include "export/internal/import/axis_matrix.h"
#include "export/internal/import/import_table.h"

namespace belfry::internal {
namespace {

using Integers = std::vector<int64_t>;

template <size_t axes>
GraphValue image(Call& call) {
  const GraphValue x = call.tensor("self");
  if (call.graph().rank(x) != axes + 2) refuse_call("its operand has no batch");
  return x;
}

Integers spatial(size_t axes) {
  Integers result(axes);
  std::iota(result.begin(), result.end(), 2);
  return result;
}

// The places are no output of a pooling in a graph.
Item values_alone(Call& call, GraphValue values) {
  if (call.output_count() == 1) return values;
  if (call.is_used(1)) refuse_call("the places of its values are used");
  return Item::List{values, {}};
}

template <size_t axes>
Item max_pool(Call& call) {
  const GraphValue x = image<axes>(call);
  const Integers kernel = call.integers("kernel_size", axes, {});
  const GraphAttributes attributes{{"kernel", kernel},
                                   {"strides", call.integers("stride", axes, kernel)},
                                   {"padding", call.integers("padding", axes, Integers(axes, 0))},
                                   {"dilations", call.integers("dilation", axes, Integers(axes, 1))},
                                   {"ceil", call.flag_or("ceil_mode", false)}};
  return values_alone(call, call.graph().node(Operation::kMaxPool, {x}, attributes, {call.type()})[0]);
}

// A divisor of one's own: the sum, as the mean times the window's size, by it.
GraphValue divided(Call& call, GraphValue mean, const Integers& kernel) {
  if (!call.has("divisor_override")) return mean;
  const double window =
      static_cast<double>(std::accumulate(kernel.begin(), kernel.end(), int64_t{1}, std::multiplies<>()));
  return call.graph().binary(Operation::kMultiply, mean, window / call.number("divisor_override"));
}

template <size_t axes>
Item average_pool(Call& call) {
  const GraphValue x = image<axes>(call);
  const Integers kernel = call.integers("kernel_size", axes, {});
  const bool ceil = call.flag_or("ceil_mode", false);
  const bool own_divisor = call.has("divisor_override");
  if (ceil && own_divisor) refuse_call("it has a divisor of its own and ceil_mode");
  const GraphAttributes attributes{{"kernel", kernel},
                                   {"strides", call.integers("stride", axes, kernel)},
                                   {"padding", call.integers("padding", axes, Integers(axes, 0))},
                                   {"ceil", ceil},
                                   {"count_padding", own_divisor || call.flag_or("count_include_pad", true)}};
  return divided(call, call.graph().node(Operation::kAveragePool, {x}, attributes, {call.type()})[0], kernel);
}

// Row q: the mean of [floor(q * n / m), ceil((q + 1) * n / m)).
at::Tensor mean_matrix(int64_t size, int64_t wanted) {
  at::Tensor matrix = at::zeros({wanted, size}, at::kDouble);
  for (int64_t row = 0; row < wanted; ++row) {
    const int64_t begin = row * size / wanted;
    const int64_t end = ((row + 1) * size + wanted - 1) / wanted;
    matrix.select(0, row).slice(0, begin, end).fill_(1.0 / static_cast<double>(end - begin));
  }
  return matrix;
}

template <size_t axes>
Item adaptive_average_pool(Call& call) {
  GraphBuilder& graph = call.graph();
  GraphValue x = image<axes>(call);
  const Integers wanted = call.integers("output_size", axes, {});
  if (wanted == Integers(axes, 1)) return graph.reduce(Operation::kMean, x, spatial(axes), true);
  for (size_t i = 0; i < axes; ++i) {
    const int64_t axis = static_cast<int64_t>(i) + 2;
    const int64_t size = fixed_size(graph, x, axis);
    if (size != wanted[i]) x = multiply_axis(graph, x, axis, mean_matrix(size, wanted[i]));
  }
  return x;
}

template <size_t axes>
Item adaptive_max_pool(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue x = image<axes>(call);
  const Integers wanted = call.integers("output_size", axes, {});
  if (wanted == Integers(axes, 1)) return values_alone(call, graph.reduce(Operation::kMax, x, spatial(axes), true));
  Integers window;
  for (size_t i = 0; i < axes; ++i) {
    const int64_t size = fixed_size(graph, x, static_cast<int64_t>(i) + 2);
    if (size % wanted[i] != 0) refuse_call("its output size ", wanted[i], " does not divide ", size);
    window.push_back(size / wanted[i]);
  }
  const GraphAttributes attributes{{"kernel", window},
                                   {"strides", window},
                                   {"padding", Integers(axes, 0)},
                                   {"dilations", Integers(axes, 1)},
                                   {"ceil", false}};
  return values_alone(call, graph.node(Operation::kMaxPool, {x}, attributes, {call.type()})[0]);
}

}  // namespace

void add_pooling(ImportTable& table) {
  table.insert({{"max_pool1d", max_pool<1>},
                {"max_pool2d", max_pool<2>},
                {"max_pool3d", max_pool<3>},
                {"max_pool1d_with_indices", max_pool<1>},
                {"max_pool2d_with_indices", max_pool<2>},
                {"max_pool3d_with_indices", max_pool<3>},
                {"avg_pool1d", average_pool<1>},
                {"avg_pool2d", average_pool<2>},
                {"avg_pool3d", average_pool<3>},
                {"adaptive_avg_pool1d", adaptive_average_pool<1>},
                {"adaptive_avg_pool2d", adaptive_average_pool<2>},
                {"adaptive_avg_pool3d", adaptive_average_pool<3>},
                {"adaptive_max_pool1d", adaptive_max_pool<1>},
                {"adaptive_max_pool2d", adaptive_max_pool<2>},
                {"adaptive_max_pool3d", adaptive_max_pool<3>}});
}

}  // namespace belfry::internal
