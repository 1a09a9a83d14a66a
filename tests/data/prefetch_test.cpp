#include <atomic>
#include <chrono>
#include <thread>

#include "tests/data/support.h"

using namespace belfry;
using namespace belfry::testing;
using List = std::vector<int64_t>;

namespace {

// Counts what was made of it.
Dataset watched(int64_t count, std::atomic<int64_t>& made) {
  return Dataset::from_generator([count, &made]() -> Generator {
    return [next = counting(count)(), &made]() mutable {
      ++made;
      return next.next();
    };
  });
}

void wait_until(const std::atomic<int64_t>& made, int64_t wanted) {
  while (made < wanted) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace

TEST_CASE("prefetch changes no element", "[data]") {
  CHECK(values_of(numbers(20).shuffle({}).batch(3).prefetch(2)) == values_of(numbers(20).shuffle({}).batch(3)));
  CHECK(values_of(numbers(5).prefetch(1).repeat(3).prefetch(4).batch(4)) == values_of(numbers(5).repeat(3)));
}

TEST_CASE("prefetch reads ahead, but no more than its buffer", "[data]") {
  std::atomic<int64_t> made = 0;
  DatasetIterator iterator = watched(100, made).prefetch(3).iterate();
  CHECK(made == 0);
  iterator.next();
  wait_until(made, 5);  // one consumed, three in the buffer, one waiting for room
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(made == 5);
}

TEST_CASE("the position is of what was consumed, not of what was read ahead", "[data]") {
  std::atomic<int64_t> made = 0;
  const Dataset data = watched(100, made).prefetch(8);
  DatasetIterator iterator = data.iterate();
  const std::string start = iterator.position();
  read_x(iterator, 2);
  wait_until(made, 10);
  DatasetIterator resumed = data.iterate();
  resumed.restore(iterator.position());
  CHECK(read_x(resumed, 1) == std::vector<List>{{2}});
  resumed.restore(start);
  CHECK(read_x(resumed, 1) == std::vector<List>{{0}});
}

TEST_CASE("an error of the background thread comes out of next, in its place", "[data]") {
  const auto function = [](Batch element) {
    if (element.features["x"].item<int64_t>() == 2) throw std::domain_error("two");
    return element;
  };
  DatasetIterator iterator = numbers(5).map(function).prefetch(4).iterate();
  CHECK(read_x(iterator, 2).size() == 2);
  CHECK_THROWS_AS(iterator.next(), std::domain_error);
  CHECK_THROWS_AS(iterator.next(), std::domain_error);
}

TEST_CASE("an iterator ends its thread, even one that waits for room", "[data]") {
  for (int i = 0; i < 50; ++i) {
    DatasetIterator iterator = numbers(1000).repeat().prefetch(1 + i % 3).iterate();
    for (int k = 0; k < i % 5; ++k) iterator.next();
  }
  std::atomic<int64_t> made = 0;
  {
    DatasetIterator iterator = watched(100, made).prefetch(2).iterate();
    iterator.next();
    wait_until(made, 4);
  }
  const int64_t after = made;
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(made == after);
}

TEST_CASE("two iterators of one data set read independently, on threads of their own", "[data]") {
  const Dataset data = numbers(200).shuffle({.seed = 6}).repeat(3).batch(7).prefetch(2);
  std::vector<int64_t> other;
  std::thread thread([&] { other = values_of(data); });
  const List own = values_of(data);
  thread.join();
  CHECK(own == other);
  CHECK(own.size() == 600);
}
