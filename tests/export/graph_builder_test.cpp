#include "export/graph/graph_builder.h"

#include <ATen/ATen.h>

#include <limits>

#include "tests/support/check_fails.h"
#include "tests/testing.h"

using namespace belfry;

namespace {

using Shape = std::vector<int64_t>;

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

GraphValue input(GraphBuilder& builder, Shape shape, c10::ScalarType dtype = at::kFloat) {
  return builder.input("x", {dtype, std::move(shape)});
}

}  // namespace

TEST_CASE("Free sizes broadcast like sizes that fit", "[export][graph]") {
  GraphBuilder builder;
  const GraphValue rows = input(builder, {-1, 3});
  CHECK(builder.type(builder.binary(Operation::kAdd, rows, input(builder, {3}))).shape == Shape{-1, 3});
  CHECK(builder.type(builder.binary(Operation::kAdd, rows, input(builder, {2, 1, 1}))).shape == Shape{2, -1, 3});
  CHECK(builder.type(builder.binary(Operation::kAdd, rows, input(builder, {5, 3}))).shape == Shape{5, 3});
  CHECK(builder.type(builder.binary(Operation::kEqual, rows, rows)).dtype == at::kBool);
  CHECK_FAILS(builder.binary(Operation::kAdd, rows, input(builder, {4})), ErrorKind::kInvalidArgument, "[-1, 3]");
  CHECK_FAILS(builder.binary(Operation::kAdd, rows, input(builder, {3}, at::kLong)), ErrorKind::kInvalidArgument,
              "Long");
}

TEST_CASE("A single unknown size of a reshape is inferred", "[export][graph]") {
  GraphBuilder builder;
  const GraphValue x = input(builder, {-1, 4, 6});
  const GraphValue flat = builder.reshape(x, {builder.size(x, 0), 24});
  CHECK(builder.type(flat).shape == Shape{-1, 24});
  const at::Tensor* shape = builder.graph().literal(builder.graph().producer(flat).inputs[1]);
  REQUIRE(shape != nullptr);
  CHECK(shape->equal(at::tensor({-1, 24}, at::kLong)));
  CHECK(builder.type(builder.reshape(input(builder, {2, 6}), {3, -1})).shape == Shape{3, 4});
  const GraphValue same = input(builder, {2, 6});
  CHECK(builder.reshape(same, {2, 6}) == same);
}

TEST_CASE("Sizes are numbers where they are known, and computed elsewhere", "[export][graph]") {
  GraphBuilder builder;
  const GraphValue x = input(builder, {-1, 4});
  CHECK(std::get<int64_t>(builder.size(x, -1)) == 4);
  CHECK(std::holds_alternative<GraphValue>(builder.size(x, 0)));
  CHECK(std::get<int64_t>(builder.product(builder.size(x, 1), 3)) == 12);
  CHECK(std::holds_alternative<GraphValue>(builder.product(builder.size(x, 0), 3)));
  CHECK(builder.type(builder.vector_of(builder.sizes(x))).shape == Shape{2});
}

TEST_CASE("Slices know their sizes", "[export][graph]") {
  GraphBuilder builder;
  const GraphValue x = input(builder, {-1, 7});
  CHECK(builder.type(builder.slice(x, 1, 1, -1)).shape == Shape{-1, 5});
  CHECK(builder.type(builder.slice(x, 1, 0, kEnd, 3)).shape == Shape{-1, 3});
  CHECK(builder.type(builder.slice(x, 1, 5, 2)).shape == Shape{-1, 0});
  CHECK(builder.slice(x, 1, 0, kEnd) == x);
  CHECK(builder.type(builder.slice(x, 0, 1, kEnd)).shape == Shape{-1, 7});
  CHECK(builder.type(builder.select_index(x, 0, -1)).shape == Shape{7});
  CHECK_FAILS(builder.slice(x, 2, 0, 1), ErrorKind::kInvalidArgument, "axis 2");
}

TEST_CASE("Joins and parts know their sizes", "[export][graph]") {
  GraphBuilder builder;
  const GraphValue x = input(builder, {-1, 4});
  CHECK(builder.type(builder.concatenate({x, x}, 1)).shape == Shape{-1, 8});
  CHECK(builder.type(builder.concatenate({x, x}, 0)).shape == Shape{-1, 4});
  CHECK(builder.type(builder.stack({x, x}, -1)).shape == Shape{-1, 4, 2});
  CHECK(builder.type(builder.split(x, {1, 3}, 1)[1]).shape == Shape{-1, 3});
  CHECK(builder.type(builder.tile(x, {1, 3})).shape == Shape{-1, 12});
  CHECK(builder.type(builder.pad(x, {0, 1}, {0, 2})).shape == Shape{-1, 7});
  CHECK(builder.pad(x, {0, 0}, {0, 0}) == x);
  CHECK_FAILS(builder.concatenate({x, input(builder, {-1})}, 0), ErrorKind::kInvalidArgument, "concatenation");
}

TEST_CASE("Products of matrices know their sizes", "[export][graph]") {
  GraphBuilder builder;
  const GraphValue x = input(builder, {-1, 5, 4});
  CHECK(builder.type(builder.matmul(x, input(builder, {4, 3}))).shape == Shape{-1, 5, 3});
  CHECK(builder.type(builder.linear(x, input(builder, {2, 4}))).shape == Shape{-1, 5, 2});
  CHECK_FAILS(builder.matmul(x, input(builder, {4})), ErrorKind::kInvalidArgument, "matmul");
}

TEST_CASE("What is known of a value cannot contradict it", "[export][graph]") {
  GraphBuilder builder;
  const GraphValue x = input(builder, {-1, 4});
  builder.refine(x, {at::kFloat, {2, -1}});
  CHECK(builder.type(x).shape == Shape{2, 4});
  CHECK_FAILS(builder.refine(x, {at::kFloat, {3, 4}}), ErrorKind::kInvalidArgument, "Float[3, 4]");
  CHECK_FAILS(builder.refine(x, {at::kLong, {2, 4}}), ErrorKind::kInvalidArgument, "Long[2, 4]");
  CHECK(builder.type(x).shape == Shape{2, 4});
}

TEST_CASE("Nodes that no output needs are not alive, but for inputs", "[export][graph]") {
  GraphBuilder builder;
  const GraphValue x = input(builder, {-1});
  input(builder, {-1, 2});
  builder.unary(Operation::kExp, x);
  const GraphValue y = builder.unary(Operation::kNegate, x);
  const Graph graph = builder.build({{"y", y}});
  CHECK(graph.live_nodes() == std::vector<size_t>{0, 1, 3});
  CHECK(builder.graph().nodes().empty());
}

TEST_CASE("Attributes are asked for by name and type", "[export][graph]") {
  const GraphAttributes attributes{{"axis", int64_t{2}}, {"keep", true}};
  CHECK(attributes.integer("axis") == 2);
  CHECK(attributes.flag("keep"));
  CHECK_FAILS(attributes.integer("keep"), ErrorKind::kInternal, "another type");
  CHECK_FAILS(attributes.number("epsilon"), ErrorKind::kInternal, "no attribute 'epsilon'");
}
