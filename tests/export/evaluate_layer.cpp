#include "evaluate_operations.h"

#include <torch/torch.h>

#include "core/error.h"

namespace belfry::testing {
namespace {

at::Tensor convolution(const GraphNode& node, const std::vector<at::Tensor>& in) {
  const GraphAttributes& attributes = node.attributes;
  const size_t axes = attributes.integers("strides").size();
  if (node.operation == Operation::kTransposedConvolution) {
    return at::convolution(in[0], in[1], optional_input(in, 2), attributes.integers("strides"),
                           attributes.integers("padding"), attributes.integers("dilations"), true,
                           attributes.integers("output_padding"), attributes.integer("groups"));
  }
  std::vector<int64_t> pairs;
  for (size_t i = axes; i-- > 0;) {
    pairs.insert(pairs.end(), {attributes.integers("before")[i], attributes.integers("after")[i]});
  }
  const std::vector<int64_t> none(axes, 0);
  return at::convolution(at::constant_pad_nd(in[0], pairs), in[1], optional_input(in, 2),
                         attributes.integers("strides"), none, attributes.integers("dilations"), false, none,
                         attributes.integer("groups"));
}

at::Tensor max_pool(const GraphAttributes& a, const at::Tensor& x) {
  const auto pool = a.integers("kernel").size() == 1   ? at::max_pool1d
                    : a.integers("kernel").size() == 2 ? at::max_pool2d
                                                       : at::max_pool3d;
  return pool(x, a.integers("kernel"), a.integers("strides"), a.integers("padding"), a.integers("dilations"),
              a.flag("ceil"));
}

at::Tensor average_pool(const GraphAttributes& a, const at::Tensor& x) {
  const auto &kernel = a.integers("kernel"), &strides = a.integers("strides"), &padding = a.integers("padding");
  const bool ceil = a.flag("ceil");
  const bool count = a.flag("count_padding");
  if (kernel.size() == 1) return at::avg_pool1d(x, kernel, strides, padding, ceil, count);
  if (kernel.size() == 2) return at::avg_pool2d(x, kernel, strides, padding, ceil, count);
  return at::avg_pool3d(x, kernel, strides, padding, ceil, count);
}

at::Tensor layer_normalization(const GraphNode& node, const at::Tensor& x) {
  const int64_t count = node.attributes.integer("axes_count");
  return at::layer_norm(x, x.sizes().slice(x.dim() - count), {}, {}, node.attributes.number("epsilon"));
}

}  // namespace

at::Tensor evaluate_layer(const GraphNode& node, const std::vector<at::Tensor>& in) {
  const GraphAttributes& attributes = node.attributes;
  switch (node.operation) {
    case Operation::kLinear:
      return at::linear(in[0], in[1], optional_input(in, 2));
    case Operation::kMatmul:
      return at::matmul(in[0], in[1]);
    case Operation::kEinsum:
      return at::einsum(attributes.text("equation"), in);
    case Operation::kConvolution:
    case Operation::kTransposedConvolution:
      return convolution(node, in);
    case Operation::kMaxPool:
      return max_pool(attributes, in[0]);
    case Operation::kAveragePool:
      return average_pool(attributes, in[0]);
    case Operation::kResizeNearest:
      return at::upsample_nearest2d(in[0], attributes.integers("size"));
    case Operation::kResizeLinear:
      return at::upsample_bilinear2d(in[0], attributes.integers("size"), attributes.flag("align_corners"));
    case Operation::kBatchNormalization:
      return at::batch_norm(in[0], in[1], in[2], in[3], in[4], false, 0, attributes.number("epsilon"), false);
    case Operation::kLayerNormalization:
      return layer_normalization(node, in[0]);
    default:
      fail(ErrorKind::kInternal, "evaluator: ", to_string(node.operation), " is no layer");
  }
}

}  // namespace belfry::testing
