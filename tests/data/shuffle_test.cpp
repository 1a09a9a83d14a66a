#include <algorithm>
#include <set>

#include "core/hash64.h"
#include "data/internal/permutation.h"
#include "tests/data/support.h"

using namespace belfry;
using namespace belfry::testing;
using List = std::vector<int64_t>;

namespace {

List sorted(List values) {
  std::sort(values.begin(), values.end());
  return values;
}

List part(const List& values, int64_t from, int64_t to) { return {values.begin() + from, values.begin() + to}; }

const List kTen{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

}  // namespace

TEST_CASE("an order depends on its seed alone and is fixed for ever", "[data]") {
  // Computed by a separate program from the definitions of the engine and the exchange.
  CHECK(to_vector(data_internal::permutation(7, 0, 10)) == List{1, 4, 2, 3, 5, 9, 6, 0, 8, 7});
  CHECK(to_vector(data_internal::permutation(7, 0, 10)) != to_vector(data_internal::permutation(8, 0, 10)));
  CHECK(sorted(to_vector(data_internal::permutation(7, 0, 10))) == kTen);
  CHECK(to_vector(data_internal::permutation(3, 5, 1)) == List{5});
  CHECK(data_internal::permutation(3, 5, 0).numel() == 0);
}

TEST_CASE("every first place is about equally frequent", "[data]") {
  std::vector<int> counts(5);
  for (uint64_t seed = 0; seed < 5000; ++seed) ++counts[to_vector(data_internal::permutation(seed, 0, 5))[0]];
  for (int count : counts) CHECK(std::abs(count - 1000) < 150);
}

TEST_CASE("each pass has all elements in an order of its own, the same for a second reader", "[data]") {
  const Dataset data = GENERATE(numbers(10), Dataset::from_generator(counting(10))).shuffle({.seed = 5}).repeat(2);
  const List values = values_of(data);
  REQUIRE(values.size() == 20);
  CHECK(sorted(part(values, 0, 10)) == kTen);
  CHECK(sorted(part(values, 10, 20)) == kTen);
  CHECK(part(values, 0, 10) != kTen);
  CHECK(part(values, 0, 10) != part(values, 10, 20));
  CHECK(values_of(data) == values);
}

TEST_CASE("random access and a stream are shuffled alike", "[data]") {
  for (int64_t buffer : {0, 1, 3, 100}) {
    const ShuffleOptions options{.buffer_size = buffer, .seed = 9};
    CHECK(values_of(numbers(10).shuffle(options).repeat(3)) ==
          values_of(Dataset::from_generator(counting(10)).shuffle(options).repeat(3)));
  }
}

TEST_CASE("without reshuffling every pass is as the first", "[data]") {
  const List values = values_of(numbers(10).shuffle({.seed = 5, .reshuffle_each_iteration = false}).repeat(2));
  CHECK(part(values, 0, 10) == part(values, 10, 20));
  CHECK(part(values, 0, 10) == values_of(numbers(10).shuffle({.seed = 5})));
}

TEST_CASE("a buffer keeps elements within its window", "[data]") {
  const List values = values_of(numbers(10).shuffle({.buffer_size = 4, .seed = 3}));
  CHECK(sorted(part(values, 0, 4)) == List{0, 1, 2, 3});
  CHECK(sorted(part(values, 4, 8)) == List{4, 5, 6, 7});
  CHECK(sorted(part(values, 8, 10)) == List{8, 9});
  CHECK(values_of(numbers(10).shuffle({.buffer_size = 1})) == kTen);
}

TEST_CASE("passes of passes differ too", "[data]") {
  const Dataset once = numbers(10).shuffle({.seed = 5}).repeat(2).repeat(2);
  CHECK(values_of(once) == values_of(numbers(10).shuffle({.seed = 5}).repeat(4)));
}

TEST_CASE("labels stay with their features", "[data]") {
  DatasetIterator iterator = numbers(50).shuffle({.seed = 2}).repeat(2).batch(7).iterate();
  while (const std::optional<Batch> batch = iterator.next()) {
    CHECK(at::equal(batch->labels.tensor(), batch->features["x"] * 10));
  }
}

TEST_CASE("the process's generator is neither read nor moved", "[data]") {
  at::manual_seed(1);
  const List first = values_of(numbers(20).shuffle({.seed = 4}).repeat(2));
  const double after = at::rand({1}, at::kDouble).item<double>();
  at::manual_seed(1);
  CHECK(at::rand({1}, at::kDouble).item<double>() == after);
  CHECK(values_of(numbers(20).shuffle({.seed = 4}).repeat(2)) == first);
}
