#include "data/dataset.h"

#include "tests/data/support.h"

using namespace belfry;
using namespace belfry::testing;
using Catch::Contains;
using Lists = std::vector<std::vector<int64_t>>;
using List = std::vector<int64_t>;

TEST_CASE("an element of tensors is a row, and a batch stacks rows", "[data]") {
  const Dataset data = Dataset::from_tensors(
      {{"x", at::arange(6).reshape({3, 2})}, {"name", StringTensor{"a", "b", "c"}}}, at::arange(3));
  CHECK(data.cardinality() == 3);
  CHECK_FALSE(data.batched());
  DatasetIterator rows = data.iterate();
  rows.next();
  const Batch second = *rows.next();
  CHECK(second.features["x"].sizes() == at::IntArrayRef{2});
  CHECK(to_vector(second.features["x"]) == List{2, 3});
  CHECK(second.features.strings("name") == StringTensor({"b"}, {}));
  CHECK(second.labels.tensor().dim() == 0);

  const Dataset batches = data.batch(2);
  CHECK(batches.batched());
  CHECK(batches.cardinality() == 2);
  DatasetIterator iterator = batches.iterate();
  const Batch first = *iterator.next();
  CHECK(first.features["x"].sizes() == at::IntArrayRef({2, 2}));
  CHECK(first.features.strings("name") == StringTensor{"a", "b"});
  CHECK(iterator.next()->features["x"].size(0) == 1);
  CHECK_FALSE(iterator.next());
  CHECK_FALSE(iterator.next());
}

TEST_CASE("a batch of neighbouring rows is a view", "[data]") {
  const at::Tensor x = at::arange(10);
  DatasetIterator iterator = Dataset::from_tensors({{"x", x}}).skip(2).batch(3).iterate();
  CHECK(iterator.next()->features["x"].data_ptr() == x.narrow(0, 2, 3).data_ptr());
}

TEST_CASE("memory that LibTorch does not own is copied", "[data]") {
  std::vector<float> values{1, 2, 3};
  const Dataset data = Dataset::from_tensors({{"x", at::from_blob(values.data(), {3})}});
  values.assign(3, -1);
  CHECK(values_of(data) == List{1, 2, 3});
}

TEST_CASE("the order of transformations matters as in tf.data", "[data]") {
  CHECK(batches_of(numbers(5).batch(2)) == Lists{{0, 1}, {2, 3}, {4}});
  CHECK(batches_of(numbers(5).batch(2, {.drop_remainder = true})) == Lists{{0, 1}, {2, 3}});
  CHECK(batches_of(numbers(3).repeat(2).batch(2)) == Lists{{0, 1}, {2, 0}, {1, 2}});
  CHECK(batches_of(numbers(3).batch(2).repeat(2)) == Lists{{0, 1}, {2}, {0, 1}, {2}});
  CHECK(batches_of(numbers(4).batch(2).take(1)) == Lists{{0, 1}});
  CHECK(batches_of(numbers(4).take(3).batch(2)) == Lists{{0, 1}, {2}});
  CHECK(batches_of(numbers(4).batch(2).skip(1)) == Lists{{2, 3}});
  CHECK(batches_of(numbers(8).batch(2).shard(2, 1)) == Lists{{2, 3}, {6, 7}});
  CHECK(batches_of(numbers(8).shard(2, 1).batch(3)) == Lists{{1, 3, 5}, {7}});
  CHECK(batches_of(numbers(8).batch(2).batch(2)) == Lists{{0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK(values_of(numbers(2).repeat(2).repeat(2)) == List{0, 1, 0, 1, 0, 1, 0, 1});
}

TEST_CASE("take, skip and shard compose over random access and over streams alike", "[data]") {
  const auto cut = [](const Dataset& data) { return data.skip(3).shard(3, 1).take(4).skip(1).batch(2); };
  const Lists expected{{7, 10}, {13}};
  CHECK(batches_of(cut(numbers(20))) == expected);
  CHECK(batches_of(cut(Dataset::from_generator(counting(20)))) == expected);
  CHECK(batches_of(numbers(10).batch(1).skip(2).take(2)) == Lists{{2}, {3}});
  CHECK(values_of(numbers(3).take(0)).empty());
  CHECK(values_of(numbers(3).skip(7)).empty());
  CHECK(values_of(numbers(3).shard(5, 4)).empty());
  CHECK(values_of(numbers(3).take(9)) == List{0, 1, 2});
}

TEST_CASE("repeat goes on without end, but for nothing", "[data]") {
  CHECK(values_of(numbers(2).repeat(), 5) == List{0, 1, 0, 1, 0});
  CHECK(values_of(numbers(2).take(0).repeat()).empty());
  CHECK(values_of(numbers(2).repeat(0)).empty());
  CHECK(values_of(Dataset::from_generator(counting(2)).repeat(2)) == List{0, 1, 0, 1});
}

TEST_CASE("map sees one example before batch, and the batch after it", "[data]") {
  const auto double_x = [](Batch element) {
    element.features.set("x", element.features["x"] * 2 + element.features["x"].dim());
    return element;
  };
  CHECK(batches_of(numbers(3).map(double_x).batch(2)) == Lists{{0, 2}, {4}});
  CHECK(batches_of(numbers(3).batch(2).map(double_x)) == Lists{{1, 3}, {5}});
  CHECK(values_of(numbers(6).map(double_x).shard(2, 1).shuffle({.seed = 1}).repeat(2).batch(6)).size() == 6);
}

TEST_CASE("a map that writes into the source is an error", "[data]") {
  const auto write = [](Batch element) {
    element.features["x"].add_(1);
    return element;
  };
  DatasetIterator iterator = numbers(3).batch(2).map(write).iterate();
  CHECK_THROWS_WITH(iterator.next(), Contains("wrote into 'x'"));
}

TEST_CASE("elements that cannot be stacked are refused by name and shape", "[data]") {
  const auto ragged = [](Batch element) {
    element.features.set("x", at::zeros({element.features["x"].item<int64_t>()}));
    return element;
  };
  DatasetIterator iterator = numbers(3).map(ragged).batch(3).iterate();
  CHECK_THROWS_WITH(iterator.next(), Contains("'x'") && Contains("[0]") && Contains("[1]"));
}

TEST_CASE("cardinality is known where it can be", "[data]") {
  CHECK(numbers(7).batch(3).cardinality() == 3);
  CHECK(numbers(7).batch(3, {.drop_remainder = true}).repeat(2).skip(1).cardinality() == 3);
  CHECK(numbers(7).shuffle({}).repeat().batch(2).prefetch(1).cardinality() == kInfiniteCardinality);
  CHECK(numbers(7).repeat().take(3).cardinality() == 3);
  CHECK(Dataset::from_generator(counting(3)).map([](Batch b) { return b; }).cardinality() == kUnknownCardinality);
}

TEST_CASE("options are refused at once, with their value", "[data]") {
  const Dataset data = numbers(4);
  CHECK_THROWS_WITH(data.batch(0), Contains("the size is 0"));
  CHECK_THROWS_WITH(data.take(-2), Contains("-2"));
  CHECK_THROWS_WITH(data.skip(-3), Contains("-3"));
  CHECK_THROWS_WITH(data.shard(0, 0), Contains("the count is 0"));
  CHECK_THROWS_WITH(data.shard(3, 3), Contains("the index is 3") && Contains("0 to 2"));
  CHECK_THROWS_WITH(data.repeat(-2), Contains("-2"));
  CHECK_THROWS_WITH(data.prefetch(0), Contains("the buffer is 0"));
  CHECK_THROWS_WITH(data.shuffle({.buffer_size = -1}), Contains("-1"));
  CHECK_THROWS_WITH(data.repeat().shuffle({}), Contains("no end"));
  CHECK_THROWS_WITH(Dataset::from_generator(counting(1)).repeat().shuffle({}), Contains("no end"));
  CHECK_THROWS_WITH(data.map(nullptr), Contains("empty"));
  CHECK(kind_of([&] { data.batch(-1); }) == ErrorKind::kInvalidArgument);
}

TEST_CASE("tensors that are no columns are refused", "[data]") {
  const at::Tensor three = at::arange(3);
  CHECK_THROWS_WITH(Dataset::from_tensors({}), Contains("no features"));
  CHECK_THROWS_WITH(Dataset::from_tensors({{"a", three}, {"b", at::arange(4)}}), Contains("'a'") && Contains("'b'"));
  CHECK_THROWS_WITH(Dataset::from_tensors({{"a", three}}, at::arange(4)), Contains("3 rows") && Contains("4"));
  CHECK_THROWS_WITH(Dataset::from_tensors({{"a", at::scalar_tensor(1)}}), Contains("'a' is a scalar"));
  CHECK_THROWS_WITH(Dataset::from_tensors({{"a", at::Tensor()}}), Contains("undefined"));
  CHECK_THROWS_WITH(Dataset::from_tensors({{"a", at::eye(2).to_sparse()}}), Contains("Sparse"));
}

TEST_CASE("the fingerprint follows structure, options, seeds and shapes", "[data]") {
  const auto pipeline = [](int64_t rows, uint64_t seed, int64_t size) {
    return numbers(rows).shuffle({.seed = seed}).repeat().batch(size);
  };
  const uint64_t fingerprint = pipeline(10, 1, 2).fingerprint();
  CHECK(fingerprint == pipeline(10, 1, 2).fingerprint());
  CHECK(fingerprint != pipeline(11, 1, 2).fingerprint());
  CHECK(fingerprint != pipeline(10, 2, 2).fingerprint());
  CHECK(fingerprint != pipeline(10, 1, 3).fingerprint());
  CHECK(numbers(10).batch(2).repeat().fingerprint() != numbers(10).repeat().batch(2).fingerprint());
  CHECK(numbers(4).prefetch(1).fingerprint() == numbers(4).prefetch(9).fingerprint());
  CHECK_THAT(pipeline(10, 1, 2).describe(),
             Contains("'x' Long[10]") && Contains(".shuffle(0, seed 1)") && Contains(".repeat().batch(2)"));
}

TEST_CASE("a transformation leaves the data set that it was made from as it is", "[data]") {
  const Dataset data = numbers(4);
  const Dataset copy = data;
  const Dataset changed = data.skip(2);
  CHECK(values_of(copy) == List{0, 1, 2, 3});
  CHECK(values_of(changed) == List{2, 3});
}
