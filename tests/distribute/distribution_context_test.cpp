#include "distribute/distribution_context.h"

#include <ATen/ATen.h>

#include <thread>

#include "distribute/strategy.h"
#include "tests/distribute/strategies.h"
#include "tests/support/check_fails.h"
#include "tests/testing.h"

using belfry::ErrorKind;
using belfry::experimental_set_strategy;
using belfry::get_replica_context;
using belfry::get_strategy;
using belfry::has_strategy;
using belfry::in_cross_replica_context;
using belfry::MirroredStrategy;
using belfry::testing::InTurn;

namespace {

bool strategy_scope(belfry::Strategy& strategy) {
  const auto scope = strategy.scope();
  return true;
}

void check_outside() {
  CHECK_FALSE(has_strategy());
  CHECK_FALSE(in_cross_replica_context());
  REQUIRE(get_replica_context() != nullptr);
}

}  // namespace

TEST_CASE("outside everything there is a replica of the default strategy", "[strategy][X2][S6][S26]") {
  check_outside();
  CHECK(get_replica_context()->num_replicas_in_sync() == 1);
  CHECK(get_replica_context()->replica_id_in_sync_group().item<int>() == 0);
  CHECK(get_strategy().num_replicas_in_sync() == 1);
  CHECK(&get_replica_context()->strategy() == &get_strategy());
  CHECK(get_replica_context()->all_reduce("mean", at::ones({2})).equal(at::ones({2})));
}

TEST_CASE("merge_call outside a scope gives the function the default strategy", "[strategy][X11]") {
  const int result = get_replica_context()->merge_call(
      [](belfry::Strategy& strategy, const belfry::PerReplica<int>& value) {
        CHECK(&strategy == &get_strategy());
        CHECK(in_cross_replica_context());
        CHECK(get_replica_context() == nullptr);
        return value[0] + 1;
      },
      1);
  CHECK(result == 2);
  check_outside();
}

TEST_CASE("a scope makes its strategy current on its thread", "[strategy][C10][S26][S27]") {
  MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1"}});
  {
    const auto scope = strategy.scope();
    CHECK(has_strategy());
    CHECK(&get_strategy() == &strategy);
    CHECK(in_cross_replica_context());
    CHECK(get_replica_context() == nullptr);
    const auto nested = strategy.scope();
    CHECK(&get_strategy() == &strategy);
    std::thread([] { check_outside(); }).join();
  }
  check_outside();
}

TEST_CASE("a run puts every replica into its own context", "[strategy][S31][X12][X13][X14][S42]") {
  MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1"}});
  const auto ids = strategy.run([&] {
    const InTurn turn;
    CHECK(has_strategy());
    CHECK_FALSE(in_cross_replica_context());
    CHECK(&get_strategy() == &strategy);
    const belfry::ReplicaContext& context = *get_replica_context();
    CHECK(&context.strategy() == &strategy);
    CHECK(context.num_replicas_in_sync() == 2);
    CHECK(context.devices() == std::vector<std::string>{"cpu:" + std::to_string(context.replica_id())});
    return context.replica_id_in_sync_group();
  });
  CHECK(ids[0].scalar_type() == at::kInt);
  CHECK(ids[0].item<int>() == 0);
  CHECK(ids[1].item<int>() == 1);
  check_outside();
}

TEST_CASE("what belongs to all replicas is refused inside one", "[strategy][X9]") {
  MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1"}});
  const belfry::PerReplica<at::Tensor> value({at::ones({1}), at::ones({1})});
  strategy.run([&] {
    const InTurn turn;
    CHECK_FAILS((strategy.run([] {}), 0), ErrorKind::kFailedPrecondition, "run");
    CHECK_FAILS(strategy.reduce("sum", value), ErrorKind::kFailedPrecondition, "all_reduce");
    CHECK_FAILS(strategy.gather(value, 0), ErrorKind::kFailedPrecondition, "all_gather");
    CHECK_FAILS(strategy_scope(strategy), ErrorKind::kFailedPrecondition, "merge_call");
    CHECK_FAILS((experimental_set_strategy(nullptr), 0), ErrorKind::kFailedPrecondition, "inside a run");
    CHECK(strategy.experimental_local_results(3) == std::vector<int>{3});  // allowed everywhere
  });
}

TEST_CASE("another strategy is refused in a scope", "[strategy][C10][S26]") {
  MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1"}});
  MirroredStrategy other({.devices = {"cpu:0", "cpu:1", "cpu:2"}});
  const auto scope = strategy.scope();
  CHECK_FAILS(strategy_scope(other), ErrorKind::kFailedPrecondition, "another strategy");
  CHECK_FAILS((other.run([] {}), 0), ErrorKind::kFailedPrecondition, "MirroredStrategy");
  CHECK_FAILS(other.reduce("sum", at::ones({1}), 0), ErrorKind::kFailedPrecondition, "another strategy");
  CHECK_FAILS((experimental_set_strategy(&other), 0), ErrorKind::kFailedPrecondition, "inside a scope");
}

TEST_CASE("experimental_set_strategy lasts until it is taken back", "[strategy][S38]") {
  MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1"}});
  experimental_set_strategy(&strategy);
  CHECK(&get_strategy() == &strategy);
  CHECK(has_strategy());
  CHECK(in_cross_replica_context());
  CHECK(get_replica_context() == nullptr);
  const auto inside = strategy.run([] { return get_replica_context() == nullptr ? 0 : 1; });
  CHECK(inside.components() == std::vector<int>{1, 1});
  experimental_set_strategy(nullptr);
  check_outside();
}
