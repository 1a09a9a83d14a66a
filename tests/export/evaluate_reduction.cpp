#include "evaluate_operations.h"

#include <torch/torch.h>

#include <algorithm>

#include "core/error.h"

namespace belfry::testing {
namespace {

at::Tensor reduce_product(at::Tensor x, std::vector<int64_t> axes, bool keep) {
  std::sort(axes.rbegin(), axes.rend());
  for (const int64_t axis : axes) x = x.prod(axis, keep);
  return x;
}

// LibTorch's argmax has no bool.
at::Tensor numbers_of_bool(const at::Tensor& x) { return x.scalar_type() == at::kBool ? x.to(at::kByte) : x; }

}  // namespace

at::Tensor evaluate_reduction(const GraphNode& node, const at::Tensor& x) {
  const auto& axes = node.attributes.integers("axes");
  const bool keep = node.attributes.flag("keep");
  switch (node.operation) {
    case Operation::kSum:
      return x.sum(axes, keep, x.scalar_type());
    case Operation::kMean:
      return x.mean(axes, keep);
    case Operation::kProduct:
      return reduce_product(x, axes, keep);
    case Operation::kMax:
      return x.amax(axes, keep);
    case Operation::kMin:
      return x.amin(axes, keep);
    case Operation::kAny:
      return x.any(axes, keep);
    case Operation::kAll:
      return x.all(axes, keep);
    default:
      fail(ErrorKind::kInternal, "evaluator: ", to_string(node.operation), " is no reduction");
  }
}

at::Tensor evaluate_along_axis(const GraphNode& node, const at::Tensor& x) {
  const int64_t axis = node.attributes.integer("axis");
  switch (node.operation) {
    case Operation::kArgMax:
      return numbers_of_bool(x).argmax(axis, node.attributes.flag("keep"));
    case Operation::kArgMin:
      return numbers_of_bool(x).argmin(axis, node.attributes.flag("keep"));
    case Operation::kCumulativeSum:
      return x.cumsum(axis, x.scalar_type());
    case Operation::kSoftmax:
      return x.softmax(axis);
    case Operation::kLogSoftmax:
      return x.log_softmax(axis);
    default:
      fail(ErrorKind::kInternal, "evaluator: ", to_string(node.operation), " does not run along an axis");
  }
}

std::vector<at::Tensor> evaluate_top_k(const GraphNode& node, const at::Tensor& x, int64_t k) {
  const int64_t axis = node.attributes.integer("axis");
  const auto [values, places] = at::sort(x, /*stable=*/true, axis, node.attributes.flag("largest"));
  return {values.narrow(axis, 0, k), places.narrow(axis, 0, k)};
}

}  // namespace belfry::testing
