#include "data/batch_sizes.h"

#include <numeric>

#include "tests/data/support.h"
#include "tests/support/check_fails.h"

using namespace belfry;
using namespace belfry::testing;

TEST_CASE("the pieces of all workers are the global batch in each step", "[data][S9]") {
  for (const int64_t global : {1, 5, 6, 17}) {
    for (const int64_t workers : {1, 2, 3, 5}) {
      for (const int64_t replicas : {1, 2, 3}) {
        std::vector<int64_t> of_step(static_cast<size_t>(workers));
        for (int64_t worker = 0; worker < workers; ++worker) {
          const std::vector<int64_t> sizes = batch_sizes_for_worker(global, workers, replicas, worker);
          REQUIRE(static_cast<int64_t>(sizes.size()) == workers * replicas);
          CHECK(std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) == global);
          for (size_t i = 0; i < sizes.size(); ++i) of_step[i / static_cast<size_t>(replicas)] += sizes[i];
        }
        CHECK(of_step == std::vector<int64_t>(of_step.size(), global));
      }
    }
  }
}

TEST_CASE("shares rotate among workers", "[data][S9]") {
  CHECK(batch_sizes_for_worker(5, 2, 1, 0) == std::vector<int64_t>{3, 2});
  CHECK(batch_sizes_for_worker(5, 2, 1, 1) == std::vector<int64_t>{2, 3});
}

TEST_CASE("batch sizes are for counts that can be", "[data][S9]") {
  CHECK_FAILS(batch_sizes_for_worker(0, 2, 1, 0), ErrorKind::kInvalidArgument, "a global batch of 0");
  CHECK_FAILS(batch_sizes_for_worker(4, 0, 1, 0), ErrorKind::kInvalidArgument, "for 0 workers");
  CHECK_FAILS(batch_sizes_for_worker(4, 2, -1, 0), ErrorKind::kInvalidArgument, "-1 replicas");
  CHECK_FAILS(batch_sizes_for_worker(4, 2, 1, 2), ErrorKind::kInvalidArgument, "the worker is 2; 0 to 1");
  CHECK_FAILS(batch_sizes_for_worker(4, 2, 1, -1), ErrorKind::kInvalidArgument, "the worker is -1");
}

TEST_CASE("a data set knows the batch size that it was given", "[data][S14]") {
  const Dataset batches = numbers(10).batch(4);
  CHECK(batches.batch_size() == 4);
  CHECK(batches.shuffle({.seed = 1}).repeat(2).take(3).skip(1).shard(2, 0).prefetch(1).batch_size() == 4);
  CHECK(batches.shard(kShardHint, kShardHint).batch_size() == 4);
  CHECK(Dataset::from_generator(counting(4)).batch(3).auto_shard(2, 1).batch_size() == 3);
  CHECK(batches.batch(2).batch_size() == 2);
  CHECK_FALSE(batches.map([](Batch element) { return element; }).batch_size());
  CHECK_FALSE(numbers(10).batch_size());
  CHECK_FALSE(Dataset::from_generator(counting(4), {.batched = true}).batch_size());
}
