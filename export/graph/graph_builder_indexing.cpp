#include <ATen/ATen.h>

#include "core/error.h"
#include "export/graph/graph_builder.h"
#include "export/internal/shapes.h"

namespace belfry {

using internal::positive_axis;

GraphValue GraphBuilder::gather(GraphValue x, GraphValue indices, int64_t given) {
  require(rank(x) > 0, "indexing of a scalar");
  const int64_t axis = positive_axis(given, rank(x));
  GraphType result = type(x);
  const std::vector<int64_t>& inserted = type(indices).shape;
  result.shape.erase(result.shape.begin() + axis);
  result.shape.insert(result.shape.begin() + axis, inserted.begin(), inserted.end());
  return single(Operation::kGather, {x, indices}, {{"axis", axis}}, result);
}

GraphValue GraphBuilder::gather_elements(GraphValue x, GraphValue indices, int64_t axis) {
  require(rank(x) == rank(indices), "gathering from ", to_string(type(x)), " by ", to_string(type(indices)));
  return single(Operation::kGatherElements, {x, indices}, {{"axis", positive_axis(axis, rank(x))}},
                {type(x).dtype, type(indices).shape});
}

GraphValue GraphBuilder::gather_nd(GraphValue x, GraphValue indices) {
  const GraphType& at = type(indices);
  require(at.rank() > 0 && at.shape.back() > 0 && at.shape.back() <= rank(x), "indexing of ", to_string(type(x)),
          " by ", to_string(at));
  std::vector<int64_t> shape(at.shape.begin(), at.shape.end() - 1);
  shape.insert(shape.end(), type(x).shape.begin() + at.shape.back(), type(x).shape.end());
  return single(Operation::kGatherNd, {x, indices}, {}, {type(x).dtype, shape});
}

GraphValue GraphBuilder::scatter_elements(GraphValue x, GraphValue indices, GraphValue updates, int64_t axis,
                                          bool add) {
  require(rank(x) == rank(indices) && rank(x) == rank(updates), "scattering ", to_string(type(updates)), " by ",
          to_string(type(indices)), " into ", to_string(type(x)));
  GraphAttributes attributes{{"axis", positive_axis(axis, rank(x))}};
  if (add) attributes.set("reduce", std::string("add"));
  return single(Operation::kScatterElements, {x, indices, updates}, attributes, type(x));
}

GraphValue GraphBuilder::non_zero(GraphValue x) {
  return single(Operation::kNonZero, {x}, {}, {at::kLong, {kFreeSize, rank(x)}});
}

GraphValue GraphBuilder::one_hot(GraphValue indices, int64_t depth) {
  std::vector<int64_t> shape = type(indices).shape;
  shape.push_back(depth);
  return single(Operation::kOneHot, {indices}, {{"depth", depth}}, {at::kLong, shape});
}

}  // namespace belfry
