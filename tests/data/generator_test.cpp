#include "data/generator.h"

#include "tests/data/support.h"

using namespace belfry;
using namespace belfry::testing;
using Catch::Contains;
using List = std::vector<int64_t>;

TEST_CASE("a generator is a data set of its elements, made anew for each pass", "[data]") {
  int passes = 0;
  const auto factory = [&passes] {
    ++passes;
    return counting(3)();
  };
  CHECK(values_of(Dataset::from_generator(factory).repeat(2).batch(2)) == List{0, 1, 2, 0, 1, 2});
  CHECK(passes == 2);
}

TEST_CASE("a batched generator gives batches", "[data]") {
  const auto factory = [] {
    return [i = 0]() mutable -> std::optional<Batch> {
      if (i == 2) return std::nullopt;
      ++i;
      return Batch{{{"x", at::full({i + 2}, i)}}, {}};
    };
  };
  const Dataset data = Dataset::from_generator(factory, {.batched = true});
  CHECK(data.batched());
  DatasetIterator iterator = data.iterate();
  CHECK(read_x(iterator) == std::vector<List>{{1, 1, 1}, {2, 2, 2, 2}});
  CHECK(iterator.rows_seen() == 7);
}

TEST_CASE("a generator that saves is restored without a replay", "[data]") {
  int made = 0;
  const auto factory = [&made] {
    ++made;
    return seekable(100)();
  };
  const Dataset data = Dataset::from_generator(factory);
  DatasetIterator iterator = data.iterate();
  read_x(iterator, 60);
  DatasetIterator resumed = data.iterate();
  int calls = 0;
  resumed.restore(iterator.position(), [&](int64_t, int64_t) { ++calls; });
  CHECK(read_x(resumed, 2) == std::vector<List>{{60}, {61}});
  CHECK(calls == 0);
}

TEST_CASE("a generator without save is replayed, and tells how far it is", "[data]") {
  const Dataset data = Dataset::from_generator(counting(3000));
  DatasetIterator iterator = data.iterate();
  read_x(iterator, 2500);
  DatasetIterator resumed = data.iterate();
  std::vector<List> calls;
  resumed.restore(iterator.position(), [&](int64_t done, int64_t total) { calls.push_back({done, total}); });
  CHECK(calls == std::vector<List>{{0, 2500}, {1024, 2500}, {2048, 2500}, {2500, 2500}});
  CHECK(read_x(resumed, 1) == std::vector<List>{{2500}});
}

TEST_CASE("a generator that has shrunk is an error that says by how much", "[data]") {
  int64_t count = 10;
  const Dataset data = Dataset::from_generator([&] { return counting(count)(); }, {.name = "camera"});
  DatasetIterator iterator = data.iterate();
  read_x(iterator, 8);
  const std::string position = iterator.position();
  count = 5;
  DatasetIterator resumed = data.iterate();
  CHECK_THROWS_WITH(resumed.restore(position), Contains("camera: ended after 5") && Contains("8"));
  CHECK(read_x(resumed).size() == 5);
}

TEST_CASE("functions that cannot work are refused", "[data]") {
  CHECK_THROWS_WITH(Dataset::from_generator(nullptr), Contains("empty"));
  const Generator::Next none = []() -> std::optional<Batch> { return std::nullopt; };
  CHECK_THROWS_WITH(Generator(
                        none, [] { return ""; }, nullptr),
                    Contains("restore was not given"));
  CHECK_THROWS_WITH(Generator(nullptr, nullptr, nullptr), Contains("next"));
  const auto nothing = [] { return []() -> std::optional<Batch> { return Batch{}; }; };
  DatasetIterator iterator = Dataset::from_generator(nothing, {.name = "camera"}).iterate();
  CHECK_THROWS_WITH(iterator.next(), Contains("camera: element 0 has no features"));
}
