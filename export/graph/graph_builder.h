// Makes a Graph node by node, and works out the type of every value.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "../../core/vocabulary.h"
#include "../../data/feature_spec.h"
#include "graph.h"

namespace belfry {

// A size: a number, or an int64 scalar of the graph.
using Extent = std::variant<int64_t, GraphValue>;
using Extents = std::vector<Extent>;

// Each call adds the nodes that it needs and returns a value; calls that would change nothing return their operand.
// kInvalidArgument when dtypes or shapes do not fit, as far as sizes are known; the graph is then as before, or has a
// node more that nothing uses. Axes may count from the end. For one thread.
class GraphBuilder {
 public:
  const Graph& graph() const { return graph_; }
  const GraphType& type(GraphValue value) const { return graph_.type(value); }
  int64_t rank(GraphValue value) const { return type(value).rank(); }

  // What is near the nodes that follow, for error texts and names.
  void set_place(std::string place) { place_ = std::move(place); }
  // Fills in free sizes that are known from elsewhere. kInvalidArgument when `known` contradicts the value's type.
  void refine(GraphValue value, const GraphType& known);
  // Any node, with the types of its outputs; the calls below are for all that has a meaning.
  std::vector<GraphValue> node(Operation operation, std::vector<GraphValue> inputs, GraphAttributes attributes,
                               const std::vector<GraphType>& types);
  // The live nodes of another graph behind those that are here; gives the values of its outputs, and in `appended`,
  // when it is not null, what each of its values, by number, is here.
  using Appended = std::unordered_map<int32_t, GraphValue>;
  std::vector<GraphValue> append(const Graph& graph, Appended* appended = nullptr);
  // The graph, with these outputs; the builder is then empty.
  Graph build(std::vector<GraphOutput> outputs);

  GraphValue input(const std::string& name, const GraphType& type);
  GraphValue variable(const std::string& name, const at::Tensor& tensor);
  GraphValue constant(const at::Tensor& tensor);
  GraphValue scalar(const at::Scalar& number, c10::ScalarType dtype);
  GraphValue integers(const std::vector<int64_t>& numbers);  // int64 vector

  GraphValue unary(Operation operation, GraphValue x);
  GraphValue binary(Operation operation, GraphValue a, GraphValue b);
  GraphValue binary(Operation operation, GraphValue a, const at::Scalar& b);  // b of a's dtype
  GraphValue select(GraphValue condition, GraphValue then, GraphValue otherwise);
  GraphValue cast(GraphValue x, c10::ScalarType dtype);

  GraphValue reduce(Operation operation, GraphValue x, const std::vector<int64_t>& axes, bool keep = false);
  GraphValue arg_reduce(Operation operation, GraphValue x, int64_t axis, bool keep = false);
  // kCumulativeSum, kSoftmax, kLogSoftmax.
  GraphValue along_axis(Operation operation, GraphValue x, int64_t axis);
  std::pair<GraphValue, GraphValue> top_k(GraphValue x, const Extent& k, int64_t axis, bool largest);

  Extent size(GraphValue x, int64_t axis);
  Extents sizes(GraphValue x);
  Extent product(const Extent& a, const Extent& b);
  Extent sum(const Extent& a, const Extent& b);
  Extent quotient(const Extent& a, int64_t b);   // rounded down
  GraphValue scalar_of(const Extent& extent);    // int64
  GraphValue vector_of(const Extents& extents);  // int64 [extents]
  GraphValue stack(const std::vector<GraphValue>& values, int64_t axis);

  GraphValue reshape(GraphValue x, const Extents& shape);  // one may be -1
  GraphValue transpose(GraphValue x, const std::vector<int64_t>& permutation);
  GraphValue swap_axes(GraphValue x, int64_t a, int64_t b);
  GraphValue broadcast(GraphValue x, const Extents& shape);
  GraphValue squeeze(GraphValue x, const std::vector<int64_t>& axes);
  GraphValue unsqueeze(GraphValue x, int64_t axis);
  GraphValue concatenate(const std::vector<GraphValue>& values, int64_t axis);
  std::vector<GraphValue> split(GraphValue x, const std::vector<int64_t>& sizes, int64_t axis);
  GraphValue slice(GraphValue x, int64_t axis, const Extent& begin, const Extent& end, int64_t step = 1);
  GraphValue select_index(GraphValue x, int64_t axis, const Extent& index);
  // kPad or kMirrorPad.
  GraphValue pad(GraphValue x, const std::vector<int64_t>& before, const std::vector<int64_t>& after,
                 const at::Scalar& value = 0);
  GraphValue mirror_pad(GraphValue x, const std::vector<int64_t>& before, const std::vector<int64_t>& after);
  GraphValue reverse(GraphValue x, const std::vector<int64_t>& axes);
  GraphValue tile(GraphValue x, const std::vector<int64_t>& repeats);
  GraphValue band_part(GraphValue x, int64_t lower, int64_t upper);
  GraphValue range(GraphValue start, GraphValue limit, GraphValue step);

  GraphValue gather(GraphValue x, GraphValue indices, int64_t axis);
  GraphValue gather_elements(GraphValue x, GraphValue indices, int64_t axis);
  GraphValue gather_nd(GraphValue x, GraphValue indices);
  // The updates take the place of what was there, or are added to it.
  GraphValue scatter_elements(GraphValue x, GraphValue indices, GraphValue updates, int64_t axis, bool add = false);
  GraphValue non_zero(GraphValue x);
  GraphValue one_hot(GraphValue indices, int64_t depth);

  GraphValue strings(const StringTensor& value);  // a constant
  // The features of serialized tf.Examples, strings of shape [batch], in the order of `features`, each [batch,
  // shape...] as belfry::parse_example gives it. Values of a feature that an example lacks are its default.
  std::vector<GraphValue> parse_example(GraphValue serialized, const FeatureSpecs& features);
  // belfry::string_to_hash_bucket_fast: int64 in [0, buckets), in the shape of the strings.
  GraphValue hash_bucket(GraphValue strings, int64_t buckets);
  // Vocabulary::lookup: int64 in the shape of the strings. A vocabulary from a file becomes an asset of that name.
  GraphValue vocabulary_lookup(GraphValue strings, const Vocabulary& vocabulary);
  // belfry::sparse_cross_hashed of columns of shape [batch, n_i], each strings or int64, whose n_i are known.
  GraphValue cross_hash(const std::vector<GraphValue>& columns, int64_t buckets, uint64_t hash_key = 0xDECAFCAFFE);
  // How many of the ascending boundaries are not above each float: int64.
  GraphValue bucketize(GraphValue x, const std::vector<float>& boundaries);
  GraphValue as_string(GraphValue x);  // int64 in decimal

  GraphValue linear(GraphValue x, GraphValue weight, GraphValue bias = {});
  GraphValue matmul(GraphValue a, GraphValue b);

 private:
  GraphValue single(Operation operation, std::vector<GraphValue> inputs, GraphAttributes attributes,
                    const GraphType& type);
  GraphValue padded(Operation operation, std::vector<GraphValue> inputs, const std::vector<int64_t>& before,
                    const std::vector<int64_t>& after);

  Graph graph_;
  std::string place_;
};

}  // namespace belfry
