#include "data/dataset_iterator.h"

#include "tests/data/support.h"

using namespace belfry;
using namespace belfry::testing;
using Catch::Contains;
using Lists = std::vector<std::vector<int64_t>>;

TEST_CASE("a position is found again in the middle of a later epoch", "[data]") {
  const Dataset data = numbers(10).shuffle({.seed = 1}).repeat(4).batch(3);
  DatasetIterator whole = data.iterate();
  read_x(whole, 7);
  const std::string position = whole.position();
  CHECK(whole.rows_seen() == 21);
  CHECK(whole.epoch() == 2);
  const Lists rest = read_x(whole);

  DatasetIterator resumed = data.iterate();
  resumed.restore(position);
  CHECK(resumed.rows_seen() == 21);
  CHECK(resumed.epoch() == 2);
  CHECK(read_x(resumed) == rest);
  CHECK(resumed.rows_seen() == 40);
  CHECK(resumed.epoch() == 3);
}

TEST_CASE("an iterator that has read on goes back", "[data]") {
  DatasetIterator iterator = numbers(10).shuffle({.buffer_size = 4}).batch(3).iterate();
  const std::string start = iterator.position();
  const Lists all = read_x(iterator);
  const std::string end = iterator.position();
  iterator.restore(start);
  CHECK(read_x(iterator) == all);
  iterator.restore(end);
  CHECK_FALSE(iterator.next());
}

TEST_CASE("bytes that are no position are refused and change nothing", "[data]") {
  DatasetIterator iterator = numbers(10).shuffle({}).repeat().batch(3).iterate();
  iterator.next();
  const std::string position = iterator.position();
  std::vector<std::string> bad{"", "abc", std::string(200, '\0'), position + "x", "x" + position};
  for (size_t cut = 0; cut < position.size(); ++cut) bad.push_back(position.substr(0, cut));
  for (size_t i = 0; i < position.size(); ++i) {
    std::string changed = position;
    changed[i] = static_cast<char>(changed[i] ^ 0x10);
    bad.push_back(changed);
  }
  for (const std::string& bytes : bad) CHECK(kind_of([&] { iterator.restore(bytes); }) == ErrorKind::kDataLoss);
  CHECK(iterator.position() == position);
}

TEST_CASE("the position of another data set is refused", "[data]") {
  DatasetIterator iterator = numbers(10).shuffle({.seed = 2}).iterate();
  const std::string other = numbers(10).shuffle({.seed = 1}).iterate().position();
  CHECK(kind_of([&] { iterator.restore(other); }) == ErrorKind::kInvalidArgument);
  CHECK_THROWS_WITH(iterator.restore(other), Contains("seed 2"));
}

TEST_CASE("rows are examples, batched or not", "[data]") {
  DatasetIterator rows = numbers(5).repeat(2).iterate();
  read_x(rows, 7);
  CHECK(rows.rows_seen() == 7);
  CHECK(rows.epoch() == 1);
  DatasetIterator batches = numbers(5).batch(2).iterate();
  read_x(batches);
  CHECK(batches.rows_seen() == 5);
  CHECK(batches.epoch() == 0);
}

TEST_CASE("an error comes out as it was, and again, until a restore", "[data]") {
  bool broken = true;
  const auto function = [&broken](Batch element) {
    if (broken && element.features["x"].item<int64_t>() == 3) throw std::out_of_range("three");
    return element;
  };
  const Dataset data = numbers(6).map(function).batch(2);
  DatasetIterator iterator = data.iterate();
  iterator.next();
  const std::string position = iterator.position();
  CHECK_THROWS_AS(iterator.next(), std::out_of_range);
  CHECK_THROWS_AS(iterator.next(), std::out_of_range);
  CHECK(kind_of([&] { iterator.position(); }) == ErrorKind::kFailedPrecondition);
  broken = false;
  iterator.restore(position);
  CHECK(read_x(iterator) == Lists{{2, 3}, {4, 5}});
}

TEST_CASE("an iterator outlives its data set and can be moved", "[data]") {
  DatasetIterator iterator = numbers(4).batch(2).prefetch(1).iterate();
  iterator.next();
  DatasetIterator other = numbers(4).shuffle({}).iterate();
  other = std::move(iterator);
  CHECK(read_x(other) == Lists{{2, 3}});
}
