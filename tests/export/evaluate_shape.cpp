#include "evaluate_operations.h"

#include <torch/torch.h>

#include "core/error.h"

namespace belfry::testing {
namespace {

std::vector<int64_t> numbers_of(const at::Tensor& vector) {
  const at::Tensor flat = vector.to(at::kLong).contiguous();
  return {flat.const_data_ptr<int64_t>(), flat.const_data_ptr<int64_t>() + flat.numel()};
}

at::Tensor margins_of(const at::Tensor& x, const GraphNode& node, const at::Scalar& value) {
  const auto& before = node.attributes.integers("before");
  const auto& after = node.attributes.integers("after");
  std::vector<int64_t> pairs;
  for (size_t axis = before.size(); axis-- > 0;) pairs.insert(pairs.end(), {before[axis], after[axis]});
  return at::constant_pad_nd(x, pairs, value);
}

at::Tensor mirrored(at::Tensor x, const GraphNode& node) {
  const auto& before = node.attributes.integers("before");
  const auto& after = node.attributes.integers("after");
  for (int64_t axis = 0; axis < x.dim(); ++axis) {
    const at::Tensor places = at::arange(-before[axis], x.size(axis) + after[axis], at::kLong).abs();
    const int64_t last = x.size(axis) - 1;
    x = x.index_select(axis, last - (last - places).abs());
  }
  return x;
}

at::Tensor band(const at::Tensor& x, int64_t lower, int64_t upper) {
  at::Tensor result = lower < 0 ? x : x.triu(-lower);
  return upper < 0 ? result : result.tril(upper);
}

}  // namespace

at::Tensor evaluate_shape(const GraphNode& node, const std::vector<at::Tensor>& in) {
  const GraphAttributes& attributes = node.attributes;
  switch (node.operation) {
    case Operation::kSize:
      return at::scalar_tensor(in[0].size(attributes.integer("axis")), at::kLong);
    case Operation::kStack:
      return at::stack(in, attributes.integer("axis"));
    case Operation::kReshape:
      return in[0].reshape(numbers_of(in[1]));
    case Operation::kTranspose:
      return in[0].permute(attributes.integers("permutation"));
    case Operation::kBroadcast:
      return in[0].expand(numbers_of(in[1])).contiguous();
    case Operation::kSqueeze:
      return in[0].squeeze(attributes.integers("axes"));
    case Operation::kUnsqueeze:
      return in[0].unsqueeze(attributes.integers("axes").at(0));
    case Operation::kConcatenate:
      return at::cat(in, attributes.integer("axis"));
    case Operation::kSlice:
      return in[0].slice(attributes.integer("axis"), in[1].item<int64_t>(), in[2].item<int64_t>(),
                         attributes.integer("step"));
    case Operation::kPad:
      return margins_of(in[0], node, in[1].item());
    case Operation::kMirrorPad:
      return mirrored(in[0], node);
    case Operation::kReverse:
      return in[0].flip(attributes.integers("axes"));
    case Operation::kTile:
      return in[0].repeat(attributes.integers("repeats"));
    case Operation::kBandPart:
      return band(in[0], attributes.integer("lower"), attributes.integer("upper"));
    case Operation::kRange:
      return at::arange(in[0].item(), in[1].item(), in[2].item(), at::TensorOptions(in[0].scalar_type()));
    default:
      fail(ErrorKind::kInternal, "evaluator: ", to_string(node.operation), " is no view");
  }
}

}  // namespace belfry::testing
