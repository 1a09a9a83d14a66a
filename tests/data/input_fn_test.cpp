#include "data/input_fn.h"

#include <ATen/ATen.h>

#include "tests/testing.h"

namespace belfry {
namespace {

Dataset numbers(int64_t batch) { return Dataset::from_tensors(at::arange(12)).batch(batch); }

int64_t rows_of_first(const InputFn& input_fn, const InputContext& context = {}) {
  return input_fn(context).iterate().next()->features.rows();
}

}  // namespace

TEST_CASE("an input_fn is any callable, with or without a context", "[data][E37]") {
  CHECK(rows_of_first([] { return numbers(3); }) == 3);
  const auto by_context = [](const InputContext& context) { return numbers(context.get_per_replica_batch_size(12)); };
  CHECK(rows_of_first(by_context) == 12);
  CHECK(rows_of_first(by_context, {.num_replicas_in_sync = 4}) == 3);
  const InputFn copy = InputFn(by_context);
  CHECK(rows_of_first(copy, {.num_replicas_in_sync = 2}) == 6);
  // One that can do without is given it all the same.
  const auto either = [](const InputContext& context = {.num_replicas_in_sync = 12}) {
    return numbers(context.get_per_replica_batch_size(12));
  };
  CHECK(rows_of_first(either, {.num_replicas_in_sync = 4}) == 3);
}

TEST_CASE("an input_fn that is not there says so", "[data]") {
  CHECK_FALSE(static_cast<bool>(InputFn()));
  CHECK_FALSE(static_cast<bool>(InputFn(std::function<Dataset()>())));
  CHECK_FALSE(static_cast<bool>(InputFn(std::function<Dataset(const InputContext&)>())));
  CHECK(static_cast<bool>(InputFn([] { return numbers(1); })));
}

}  // namespace belfry
