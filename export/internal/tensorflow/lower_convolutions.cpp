// Convolutions. The channels go last: Conv2D of NCHW runs on some builds of TensorFlow's CPU kernels alone.
#include <ATen/ATen.h>

#include <algorithm>

#include "core/error.h"
#include "export/internal/tensorflow/image_layout.h"
#include "export/internal/tensorflow/lowering.h"

namespace belfry::internal {
namespace {

using Integers = std::vector<int64_t>;

bool all_are(const Integers& numbers, int64_t value) {
  return std::all_of(numbers.begin(), numbers.end(), [&](int64_t number) { return number == value; });
}

// A convolution over two or three axes; one over a single axis has gained an axis of size 1 in front.
struct Window {
  Integers strides;
  Integers before;
  Integers after;
  Integers dilations;
  int64_t groups;
};

Integers planar(Integers numbers, int64_t front) {
  if (numbers.size() == 1) numbers.insert(numbers.begin(), front);
  return numbers;
}

Window window_of(const GraphNode& node, const char* before, const char* after) {
  const GraphAttributes& attributes = node.attributes;
  return {planar(attributes.integers("strides"), 1), planar(attributes.integers(before), 0),
          planar(attributes.integers(after), 0), planar(attributes.integers("dilations"), 1),
          attributes.integer("groups")};
}

// [n, c, w] as [n, c, 1, w].
TfTensor planar_image(Lowering& lowering, const GraphNode& node) {
  const TfTensor x = lowering.input(node, 0);
  return lowering.type(node, 0).rank() == 3 ? lowering.out().expand_dims(x, 2) : x;
}

// LibTorch's [out, in / groups, ...] as TensorFlow's [..., in / groups, out]; with an axis more for a single one.
TfTensor filter_of(Lowering& lowering, const GraphNode& node) {
  const int64_t rank = lowering.type(node, 1).rank();
  Integers permutation;
  for (int64_t axis = 2; axis < rank; ++axis) permutation.push_back(axis);
  permutation.insert(permutation.end(), {1, 0});
  const at::Tensor* known = lowering.literal(node, 1);
  if (rank == 3 && known) return lowering.derived(node, 1, known->permute(permutation).unsqueeze(0));
  const TfTensor filter = lowering.permuted(node, 1, permutation);
  return rank == 3 ? lowering.out().expand_dims(filter, 0) : filter;
}

Integers explicit_paddings(const Window& window) {
  Integers pairs{0, 0};
  for (size_t i = 0; i < window.before.size(); ++i) {
    pairs.insert(pairs.end(), {window.before[i], window.after[i]});
  }
  pairs.insert(pairs.end(), {0, 0});
  return pairs;
}

TfNode& set_window(TfNode& node, const Window& window, bool padded) {
  node.integers("strides", framed(1, window.strides, 1));
  if (!all_are(window.dilations, 1)) node.integers("dilations", framed(1, window.dilations, 1));
  const bool explicit_padding = padded && !(all_are(window.before, 0) && all_are(window.after, 0));
  node.text("padding", explicit_padding ? "EXPLICIT" : "VALID");
  if (explicit_padding) node.integers("explicit_paddings", explicit_paddings(window));
  return node;
}

TfTensor convolve_plane(GraphDefBuilder& out, const TfTensor& x, const TfTensor& filter, const Window& window) {
  TfNode node = out.node("Conv2D");
  node.input(x).input(filter).type("T", x.dtype);
  return set_window(node, window, true).output(x.dtype);
}

TfTensor padded(GraphDefBuilder& out, const TfTensor& x, const Window& window) {
  return out.pad(x, framed(0, window.before, 0), framed(0, window.after, 0), out.scalar(0, x.dtype));
}

// A filter for each channel: [h, w, in, times] of [in * times, 1, h, w]. Padded before: explicit padding with a bias
// behind it ends the process in oneDNN's build of TensorFlow 2.15.
TfTensor convolve_depthwise(GraphDefBuilder& out, const TfTensor& x, const TfTensor& filter, const GraphType& weight,
                            const Window& window) {
  const int64_t rank = weight.rank();
  const int64_t height = rank == 3 ? 1 : weight.shape[2];
  const int64_t times = weight.shape[0] / window.groups;
  // The filter is [h, w, 1, in * times] with the input channels slowest: only its shape changes.
  const TfTensor by_channel = out.reshape(filter, {height, weight.shape.back(), window.groups, times});
  TfNode node = out.node("DepthwiseConv2dNative");
  node.input(padded(out, x, window)).input(by_channel).type("T", x.dtype);
  return set_window(node, window, false).output(x.dtype);
}

TfTensor convolve_groups(GraphDefBuilder& out, const TfTensor& x, const TfTensor& filter, const Window& window) {
  const auto images = out.split(x, window.groups, 3);
  const auto filters = out.split(filter, window.groups, 3);
  std::vector<TfTensor> parts;
  for (size_t i = 0; i < images.size(); ++i) parts.push_back(convolve_plane(out, images[i], filters[i], window));
  return out.concatenate(parts, 3);
}

TfTensor convolve_volume(GraphDefBuilder& out, const TfTensor& x, const TfTensor& filter, const Window& window) {
  if (window.groups != 1 || !all_are(window.dilations, 1)) {
    fail(ErrorKind::kUnimplemented, "TensorFlow's CPU kernel has no groups and dilations over three axes");
  }
  return out.node("Conv3D")
      .input(padded(out, x, window))
      .input(filter)
      .type("T", x.dtype)
      .integers("strides", framed(1, window.strides, 1))
      .text("padding", "VALID")
      .output(x.dtype);
}

// TensorFlow's CPU kernel reads one stride for both axes and no dilations at all.
bool is_depthwise(Lowering& lowering, const GraphNode& node, const Window& window) {
  return window.groups > 1 && window.groups == lowering.type(node, 0).shape[1] &&
         window.strides[0] == window.strides[1] && all_are(window.dilations, 1);
}

void set_image(Lowering& lowering, const GraphNode& node, TfTensor y, int64_t rank) {
  GraphDefBuilder& out = lowering.out();
  if (lowering.has_input(node, 2)) y = out.bias_add(y, lowering.input(node, 2));
  y = channels_first(out, y, std::max<int64_t>(rank, 4));
  lowering.set(node, rank == 3 ? out.squeeze(y, {2}) : y);
}

void lower_convolution(Lowering& lowering, const GraphNode& node) {
  GraphDefBuilder& out = lowering.out();
  const int64_t rank = lowering.type(node, 0).rank();
  const Window window = window_of(node, "before", "after");
  const TfTensor x = channels_last(out, planar_image(lowering, node), std::max<int64_t>(rank, 4));
  const TfTensor filter = filter_of(lowering, node);
  TfTensor y;
  if (rank == 5) {
    y = convolve_volume(out, x, filter, window);
  } else if (is_depthwise(lowering, node, window)) {
    y = convolve_depthwise(out, x, filter, lowering.type(node, 1), window);
  } else {
    y = window.groups > 1 ? convolve_groups(out, x, filter, window) : convolve_plane(out, x, filter, window);
  }
  set_image(lowering, node, y, rank);
}

// [batch, height, width, channels] of the result, whose batch is that of x.
TfTensor result_shape(Lowering& lowering, const GraphNode& node, const TfTensor& x, int64_t channels) {
  GraphDefBuilder& out = lowering.out();
  const Integers spatial(lowering.result_type(node).shape.begin() + 2, lowering.result_type(node).shape.end());
  if (std::find(spatial.begin(), spatial.end(), kFreeSize) != spatial.end()) {
    fail(ErrorKind::kUnimplemented, "the size of its image varies from request to request");
  }
  const TfTensor batch = out.size(x, 0);
  std::vector<TfTensor> sizes{out.cast(batch, at::kInt)};
  for (const int64_t size : planar(spatial, 1)) sizes.push_back(out.int32(size));
  sizes.push_back(out.int32(channels));
  return out.pack(sizes, 0);
}

// The gradient of a convolution by its image.
void lower_transposed_convolution(Lowering& lowering, const GraphNode& node) {
  GraphDefBuilder& out = lowering.out();
  const int64_t rank = lowering.type(node, 0).rank();
  const Window window = window_of(node, "padding", "padding");
  if (rank == 5) fail(ErrorKind::kUnimplemented, "a transposed convolution over three axes");
  if (!all_are(window.dilations, 1)) fail(ErrorKind::kUnimplemented, "TensorFlow's CPU kernel has no dilations for it");
  const int64_t channels = lowering.type(node, 1).shape[1];
  const TfTensor x = channels_last(out, planar_image(lowering, node), 4);
  const TfTensor shape = result_shape(lowering, node, x, channels);
  // [h, w, out / groups, in]: a group's input channels lie together.
  const auto images = window.groups > 1 ? out.split(x, window.groups, 3) : std::vector<TfTensor>{x};
  const TfTensor filter = filter_of(lowering, node);
  const auto filters = window.groups > 1 ? out.split(filter, window.groups, 3) : std::vector<TfTensor>{filter};
  std::vector<TfTensor> parts;
  for (size_t i = 0; i < images.size(); ++i) {
    TfNode gradient = out.node("Conv2DBackpropInput");
    gradient.inputs({shape, filters[i], images[i]}).type("T", x.dtype);
    parts.push_back(set_window(gradient, window, true).output(x.dtype));
  }
  set_image(lowering, node, parts.size() > 1 ? out.concatenate(parts, 3) : parts[0], rank);
}

}  // namespace

void add_convolution_lowerings(LoweringTable& table) {
  table[Operation::kConvolution] = lower_convolution;
  table[Operation::kTransposedConvolution] = lower_transposed_convolution;
}

}  // namespace belfry::internal
