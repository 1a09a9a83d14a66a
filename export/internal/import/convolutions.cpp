// Convolutions over one, two or three axes.
#include "export/internal/import/import_table.h"

namespace belfry::internal {
namespace {

using Integers = std::vector<int64_t>;

// [batch, channels, axes...]: LibTorch also takes images without a batch.
size_t spatial_axes(Call& call, GraphValue x, GraphValue weight) {
  if (call.graph().rank(x) != call.graph().rank(weight)) refuse_call("its operand has no batch");
  return static_cast<size_t>(call.graph().rank(x) - 2);
}

std::vector<GraphValue> operands(Call& call) {
  std::vector<GraphValue> inputs{call.tensor("input"), call.tensor("weight")};
  if (call.has("bias")) inputs.push_back(call.tensor("bias"));
  return inputs;
}

struct Margins {
  Integers before;
  Integers after;
};

// "same": the window's reach, the odd one behind.
Margins named_margins(Call& call, const std::string& mode, const Integers& dilations) {
  const Integers& kernel = call.graph().type(call.tensor("weight")).shape;
  Margins margins{Integers(dilations.size(), 0), Integers(dilations.size(), 0)};
  if (mode == "valid") return margins;
  for (size_t i = 0; i < dilations.size(); ++i) {
    const int64_t total = dilations[i] * (kernel[i + 2] - 1);
    margins.before[i] = total / 2;
    margins.after[i] = total - total / 2;
  }
  return margins;
}

Item transposed(Call& call, size_t axes) {
  const GraphAttributes attributes{{"strides", call.integers("stride", axes, Integers(axes, 1))},
                                   {"padding", call.integers("padding", axes, Integers(axes, 0))},
                                   {"output_padding", call.integers("output_padding", axes, Integers(axes, 0))},
                                   {"dilations", call.integers("dilation", axes, Integers(axes, 1))},
                                   {"groups", call.integer_or("groups", 1)}};
  return call.graph().node(Operation::kTransposedConvolution, operands(call), attributes, {call.type()})[0];
}

Item convolution(Call& call) {
  const size_t axes = spatial_axes(call, call.tensor("input"), call.tensor("weight"));
  if (call.flag_or("transposed", false)) return transposed(call, axes);
  const Integers dilations = call.integers("dilation", axes, Integers(axes, 1));
  Margins margins;
  if (const auto* mode = call.item("padding").get<std::string>()) {
    margins = named_margins(call, *mode, dilations);
  } else {
    margins.before = margins.after = call.integers("padding", axes, Integers(axes, 0));
  }
  const GraphAttributes attributes{{"strides", call.integers("stride", axes, Integers(axes, 1))},
                                   {"before", margins.before},
                                   {"after", margins.after},
                                   {"dilations", dilations},
                                   {"groups", call.integer_or("groups", 1)}};
  return call.graph().node(Operation::kConvolution, operands(call), attributes, {call.type()})[0];
}

Item transposed_convolution(Call& call) {
  return transposed(call, spatial_axes(call, call.tensor("input"), call.tensor("weight")));
}

}  // namespace

void add_convolutions(ImportTable& table) {
  for (const char* name : {"conv1d", "conv2d", "conv3d", "convolution", "_convolution", "_convolution_mode"}) {
    table.insert({name, convolution});
  }
  for (const char* name : {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d"}) {
    table.insert({name, transposed_convolution});
  }
}

}  // namespace belfry::internal
