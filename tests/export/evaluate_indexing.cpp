#include "evaluate_operations.h"

#include <torch/torch.h>

#include "core/error.h"

namespace belfry::testing {
namespace {

at::Tensor gather_nd(const at::Tensor& x, const at::Tensor& places) {
  c10::List<std::optional<at::Tensor>> indices;
  for (const at::Tensor& index : places.unbind(-1)) indices.push_back(index);
  return x.index(indices);
}

}  // namespace

at::Tensor evaluate_indexing(const GraphNode& node, const std::vector<at::Tensor>& in) {
  const auto axis = [&] { return node.attributes.integer("axis"); };
  switch (node.operation) {
    case Operation::kGather: {
      std::vector<int64_t> shape = in[0].sizes().vec();
      shape.erase(shape.begin() + axis());
      shape.insert(shape.begin() + axis(), in[1].sizes().begin(), in[1].sizes().end());
      return in[0].index_select(axis(), in[1].reshape({-1})).reshape(shape);
    }
    case Operation::kGatherElements:
      return in[0].gather(axis(), in[1]);
    case Operation::kGatherNd:
      return gather_nd(in[0], in[1]);
    case Operation::kScatterElements:
      return node.attributes.contains("reduce") ? in[0].scatter_add(axis(), in[1], in[2])
                                                : in[0].scatter(axis(), in[1], in[2]);
    case Operation::kNonZero:
      return in[0].nonzero();
    case Operation::kOneHot:
      return in[0].unsqueeze(-1).eq(at::arange(node.attributes.integer("depth"))).to(at::kLong);
    default:
      fail(ErrorKind::kInternal, "evaluator: ", to_string(node.operation), " does not index");
  }
}

}  // namespace belfry::testing
