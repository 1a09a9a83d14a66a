#include "distribute/strategy_extended.h"

#include <ATen/ATen.h>

#include "tests/distribute/strategies.h"
#include "tests/support/check_fails.h"
#include "tests/testing.h"

namespace belfry {
namespace {

using testing::strategy_named;

PerReplica<at::Tensor> ids(Strategy& strategy) {
  return strategy.run([] { return at::full({2}, testing::replica_id() + 1, at::kFloat); });
}

at::Tensor both(double value) { return at::full({2}, value, at::kFloat); }

}  // namespace

TEST_CASE("reduce_to puts the reduced value where it is wanted", "[strategy][S5][S39]") {
  const auto strategy = strategy_named("mirrored_3");
  const StrategyExtended extended = strategy->extended();
  const PerReplica<at::Tensor> values = ids(*strategy);
  const auto on_device = extended.reduce_to("sum", values, "cpu:0");
  REQUIRE(on_device.size() == 1);
  CHECK(on_device[0].equal(both(6)));
  const auto like_values = extended.reduce_to("mean", values, values);
  REQUIRE(like_values.size() == 3);
  for (const at::Tensor& component : like_values) CHECK(component.equal(both(2)));
  CHECK(like_values[0].data_ptr() != like_values[1].data_ptr());
  const StrategyScope scope = strategy->scope();
  const DistributedVariable variable = get_variable("v", both(0));
  CHECK(extended.reduce_to("sum", values, variable).size() == 3);
}

TEST_CASE("batch_reduce_to reduces each value to its own destination", "[strategy][S39]") {
  const auto strategy = strategy_named("central_2");
  const PerReplica<at::Tensor> values = ids(*strategy);
  const auto reduced = strategy->extended().batch_reduce_to("sum", {{values, "cpu:0"}, {values, values}});
  REQUIRE(reduced.size() == 2);
  CHECK(reduced[0].size() == 1);
  CHECK(reduced[1].size() == 2);
  CHECK(reduced[1][1].equal(both(3)));
}

TEST_CASE("broadcast_to gives copies that nobody shares", "[strategy][S5]") {
  const auto strategy = strategy_named("mirrored_2");
  const at::Tensor value = both(1);
  const auto copies = strategy->extended().broadcast_to(value, ids(*strategy));
  copies[0].add_(1);
  CHECK(value.equal(both(1)));
  CHECK(copies[1].equal(both(1)));
}

TEST_CASE("update changes every copy of a variable by its own component", "[strategy][S5]") {
  const auto strategy = strategy_named("mirrored_2");
  const StrategyScope scope = strategy->scope();
  DistributedVariable own = get_variable(
      "own", both(0), {.synchronization = VariableSynchronization::kOnRead, .aggregation = VariableAggregation::kSum});
  DistributedVariable shared = get_variable("shared", both(10));
  const PerReplica<at::Tensor> values = ids(*strategy);
  const auto add = [](at::Tensor& copy, const at::Tensor& value, double scale) {
    copy.add_(value, scale);
    return copy.sum().item<double>();
  };
  const PerReplica<double> sums = strategy->extended().update(own, add, values, 2.0);
  CHECK(sums.components() == std::vector<double>{4, 8});
  CHECK(own.value().equal(both(6)));
  CHECK(strategy->store().find("own")->value().equal(both(6)));
  // Equal on all devices at all times: one copy, updated once.
  strategy->extended().update(
      shared, [](at::Tensor& copy, const at::Tensor& value) { copy.add_(value); }, values);
  CHECK(shared.value().equal(both(11)));
  for (const at::Tensor& read : strategy->run([&] { return shared.value().detach().clone(); })) {
    CHECK(read.equal(both(11)));
  }
}

TEST_CASE("update works in a merge function, and is refused in a replica", "[strategy][S5][X10]") {
  const auto strategy = strategy_named("mirrored_2");
  DistributedVariable variable = strategy->run([] { return get_variable("v", both(1)); })[0];
  strategy->run([&] {
    get_replica_context()->merge_call(
        [&](Strategy& across, const PerReplica<at::Tensor>& values) {
          across.extended().update(
              variable, [](at::Tensor& copy, const at::Tensor& value) { copy.copy_(value); },
              across.reduce("sum", values));
        },
        both(testing::replica_id() + 1));
  });
  CHECK(variable.value().equal(both(3)));
  CHECK_FAILS(strategy->run([&] { strategy->extended().update(variable, [](at::Tensor& copy) { copy.zero_(); }); }),
              ErrorKind::kFailedPrecondition, "update of variable 'v' was called by replica");
  CHECK(variable.value().equal(both(3)));
}

TEST_CASE("the extended methods know the strategy's devices and variables", "[strategy][S5]") {
  const auto mirrored = strategy_named("mirrored_2"), central = strategy_named("central_2");
  CHECK(mirrored->extended().worker_devices() == testing::cpus(2));
  CHECK(mirrored->extended().parameter_devices() == testing::cpus(2));
  CHECK(central->extended().parameter_devices() == testing::cpus(1));
  CHECK(central->extended().non_slot_devices() == testing::cpus(1));
  const StrategyScope scope = mirrored->scope();
  DistributedVariable variable = get_variable("v", both(1));
  CHECK(mirrored->extended().variable_created_in_scope(variable));
  CHECK_FALSE(central->extended().variable_created_in_scope(variable));
  CHECK(mirrored->extended().read_var(variable).equal(both(1)));
  CHECK_FAILS(central->extended().update(variable, [](at::Tensor&) {}), ErrorKind::kInvalidArgument,
              "'v' is one of MirroredStrategy, not of this CentralStorageStrategy");
  const auto results = mirrored->extended().call_for_each_replica([](int x) { return x + testing::replica_id(); }, 5);
  CHECK(results.components() == std::vector<int>{5, 6});
  const PerReplica<int> numbers({7, 8});
  CHECK(mirrored->extended().update_non_slot([](int x) { return x; }, numbers) == 7);
}

TEST_CASE("update refuses components that do not fit, and nothing is changed", "[strategy][S5]") {
  const auto strategy = strategy_named("mirrored_2");
  const StrategyScope scope = strategy->scope();
  DistributedVariable own = get_variable(
      "own", both(1), {.synchronization = VariableSynchronization::kOnRead, .aggregation = VariableAggregation::kSum});
  const auto add = [](at::Tensor& copy, const at::Tensor& value) { copy.add_(value); };
  for (const size_t size : {1, 3}) {
    const PerReplica<at::Tensor> values(std::vector<at::Tensor>(size, both(1)));
    CHECK_FAILS(strategy->extended().update(own, add, values), ErrorKind::kInvalidArgument, "components");
  }
  CHECK(own.value().equal(both(2)));
}

TEST_CASE("what speaks for all is refused in a replica", "[strategy][S5][X9]") {
  const auto strategy = strategy_named("mirrored_2");
  const StrategyExtended extended = strategy->extended();
  const PerReplica<at::Tensor> values = ids(*strategy);
  CHECK_FAILS(strategy->run([&] { extended.reduce_to("sum", values, "cpu:0"); }), ErrorKind::kFailedPrecondition,
              "all_reduce");
  CHECK_FAILS(strategy->run([&] { extended.broadcast_to(both(1), "cpu:0"); }), ErrorKind::kFailedPrecondition,
              "broadcast_to");
  CHECK_FAILS(strategy->run([&] { extended.update_non_slot([] {}); }), ErrorKind::kFailedPrecondition,
              "update_non_slot");
}

}  // namespace belfry
