#include "distribute/internal/assignment_log.h"

#include <ATen/ATen.h>

#include "distribute/distributed_variable.h"
#include "distribute/strategy.h"
#include "tests/distribute/strategies.h"
#include "tests/support/check_fails.h"
#include "tests/testing.h"

namespace belfry {
namespace {

using testing::replica_id;
using testing::strategy_named;

constexpr VariableSynchronization kEither[] = {VariableSynchronization::kOnRead, VariableSynchronization::kOnWrite};

DistributedVariable counter(VariableSynchronization synchronization) {
  return get_variable(
      "counter", at::zeros({}, at::kLong),
      {.trainable = false, .synchronization = synchronization, .aggregation = VariableAggregation::kSum});
}

}  // namespace

TEST_CASE("a run that fails undoes what was assigned in it, copies of each replica too", "[strategy][S28]") {
  for (const char* name : {"mirrored_3", "central_2", "one_device"}) {
    for (const VariableSynchronization synchronization : kEither) {
      INFO(name << " " << to_string(synchronization));
      const auto strategy = strategy_named(name);
      const auto add = [&](bool fails) {
        strategy->run([&] {
          DistributedVariable mine = counter(synchronization);
          mine.assign_add(at::full({}, replica_id() + 1, at::kLong));
          mine.assign_add(at::full({}, 10, at::kLong));
          if (fails) fail(ErrorKind::kOutOfRange, "no more");
        });
      };
      add(false);
      const DistributedVariable variable = strategy->run([&] { return counter(synchronization); })[0];
      const auto before = variable.components();
      std::vector<at::Tensor> values;
      for (const at::Tensor& copy : before) values.push_back(copy.clone());
      const int64_t total = variable.value().item<int64_t>();
      CHECK_FAILS(add(true), ErrorKind::kOutOfRange, "no more");
      CHECK(variable.value().item<int64_t>() == total);
      CHECK(strategy->store().snapshot()["counter"].item<int64_t>() == total);
      for (size_t i = 0; i < values.size(); ++i) CHECK(variable.components()[i].equal(values[i]));
      add(false);
      CHECK(variable.value().item<int64_t>() == 2 * total);
    }
  }
}

TEST_CASE("a snapshot in the middle of a step is that of its beginning", "[strategy][S28]") {
  const auto strategy = strategy_named("one_device");
  DistributedVariable variable = strategy->run([] { return counter(VariableSynchronization::kOnWrite); })[0];
  strategy->run([&] {
    variable.assign_add(5);
    CHECK(strategy->store().snapshot()["counter"].item<int64_t>() == 0);
  });
  CHECK(strategy->store().snapshot()["counter"].item<int64_t>() == 5);
  CHECK(strategy->store().assignments().count() == 1);
}

}  // namespace belfry
