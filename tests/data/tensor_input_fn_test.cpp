#include "data/tensor_input_fn.h"

#include "tests/data/support.h"

using namespace belfry;
using namespace belfry::testing;
using Catch::Contains;
using List = std::vector<int64_t>;
using Lists = std::vector<List>;

TEST_CASE("an input function gives the rows in batches, each call anew", "[data][E39]") {
  const InputFn input_fn = tensor_input_fn({{"x", at::arange(5)}}, at::arange(5), {.batch_size = 2, .shuffle = false});
  CHECK(batches_of(input_fn()) == Lists{{0, 1}, {2, 3}, {4}});
  CHECK(batches_of(input_fn()) == Lists{{0, 1}, {2, 3}, {4}});
  const Features x{{"x", at::arange(3)}};
  CHECK(batches_of(tensor_input_fn(x, {.batch_size = 2, .num_epochs = 2, .shuffle = false})()) ==
        Lists{{0, 1}, {2, 0}, {1, 2}});
  CHECK(tensor_input_fn({{"x", at::arange(300)}}, {.shuffle = true})().cardinality() == 3);
  CHECK(tensor_input_fn(x, {.num_epochs = kForever, .shuffle = true})().cardinality() == kInfiniteCardinality);
  CHECK(values_of(tensor_input_fn({{"x", at::arange(9)}}, {.shuffle = true, .seed = 3})()) ==
        values_of(numbers(9).shuffle({.seed = 3})));
}

TEST_CASE("an input function that cannot work is refused when it is made", "[data][E39]") {
  const Features x{{"x", at::arange(3)}};
  CHECK_THROWS_WITH(tensor_input_fn(x, {}), Contains(".shuffle"));
  CHECK_THROWS_WITH(tensor_input_fn({}, {.shuffle = true}), Contains("no features"));
  CHECK_THROWS_WITH(tensor_input_fn(x, at::arange(4), {.shuffle = true}), Contains("3 rows") && Contains("4"));
  CHECK_THROWS_WITH(tensor_input_fn(x, {{"x", at::arange(3)}}, {.shuffle = true}),
                    Contains("'x' is a feature and a label"));
  CHECK_THROWS_WITH(tensor_input_fn(x, {.batch_size = 0, .shuffle = true}), Contains("batch_size is 0"));
  CHECK_THROWS_WITH(tensor_input_fn(x, {.num_epochs = 0, .shuffle = true}), Contains("num_epochs is 0"));
}
