#include "distribute/distributed_variable.h"

#include <ATen/ATen.h>

#include <thread>

#include "tests/distribute/strategies.h"
#include "tests/support/check_fails.h"
#include "tests/testing.h"

using belfry::DistributedVariable;
using belfry::ErrorKind;
using belfry::get_variable;
using belfry::VariableAggregation;
using belfry::VariableKind;
using belfry::VariableOptions;
using belfry::VariableSynchronization;
using belfry::testing::replica_id;
using belfry::testing::strategy_named;
using Catch::Contains;

namespace {

constexpr belfry::VariableOptions kSumOnRead{.synchronization = VariableSynchronization::kOnRead,
                                             .aggregation = VariableAggregation::kSum};

}  // namespace

TEST_CASE("a variable of a scope lies in its strategy's store under its name", "[strategy][S28][S32]") {
  const auto strategy = strategy_named("mirrored_2", 7);
  auto scope = std::make_unique<belfry::StrategyScope>(*strategy);
  const DistributedVariable w = get_variable("layer/w", [] { return at::randn({3}); });
  REQUIRE(strategy->store().find("layer/w") != nullptr);
  CHECK(strategy->store().find("layer/w")->kind() == VariableKind::kParameter);
  CHECK(w.value().equal(strategy->store().find("layer/w")->value()));
  CHECK(&w.strategy() == strategy.get());
  CHECK(get_variable("layer/w", at::zeros({3})).value().equal(w.value()));  // there already
  CHECK_FAILS(get_variable("layer/w", at::zeros({3}), {.trainable = false}), ErrorKind::kAlreadyExists, "'layer/w'");
  CHECK_FAILS(get_variable("my w", at::zeros({3})), ErrorKind::kInvalidArgument, "'my w'");
  scope.reset();
  const auto other = strategy_named("central_3", 7);
  const auto made = other->run([] { return get_variable("layer/w", [] { return at::randn({3}); }).value().detach(); });
  CHECK(made[2].equal(w.value()));  // of the seed and the name alone
}

TEST_CASE("a variable made outside a scope is an ordinary one", "[strategy][S49]") {
  DistributedVariable w = get_variable("w", at::ones({2}));
  CHECK_FALSE(get_variable("w", at::zeros({2})).value().equal(w.value()));
  w.assign_add(at::ones({2}));
  CHECK(w.value().equal(at::full({2}, 2.0)));
  CHECK(w.components().size() == 1);
  const auto strategy = strategy_named("mirrored_2");
  CHECK(strategy->run([&] { return w.value(); })[1].is_same(w.value()));
}

TEST_CASE("a replica's write is seen by all replicas at once", "[strategy][S28][S32]") {
  for (const char* name : {"mirrored_3", "central_2", "one_device"}) {
    const auto strategy = strategy_named(name);
    const auto scope = strategy->scope();
    DistributedVariable w = get_variable("w", at::zeros({}, at::kDouble), {.aggregation = VariableAggregation::kSum});
    const int n = strategy->num_replicas_in_sync();
    const auto seen = strategy->run([&] {
      std::vector<double> values;
      for (int i = 0; i < 20; ++i) {
        w.assign_add(at::full({}, replica_id() + 1.0, at::kDouble));
        values.push_back(w.value().item<double>());
      }
      return values;
    });
    for (int i = 0; i < 20; ++i) {
      for (const auto& values : seen) CHECK(values[static_cast<size_t>(i)] == (i + 1) * n * (n + 1) / 2.0);
    }
  }
}

TEST_CASE("a graph from before a write does not give a wrong gradient", "[strategy]") {
  const auto strategy = strategy_named("mirrored_2");
  const auto scope = strategy->scope();
  DistributedVariable w = get_variable("w", at::ones({2}), {.aggregation = VariableAggregation::kMean});
  const auto messages = strategy->run([&] {
    const at::Tensor stale = w.value().square().sum();
    w.assign(at::full({2}, 5.0));
    w.value().square().sum().backward();
    try {
      stale.backward();
    } catch (const c10::Error& error) {
      return std::string(error.what_without_backtrace());
    }
    return std::string();
  });
  for (const std::string& message : messages) CHECK_THAT(message, Contains("modified by an inplace operation"));
}

TEST_CASE("replicas that assign different variables are told of both", "[strategy]") {
  const auto strategy = strategy_named("mirrored_2");
  const auto scope = strategy->scope();
  DistributedVariable a = get_variable("a", at::zeros({}), {.aggregation = VariableAggregation::kSum});
  DistributedVariable b = get_variable("b", at::zeros({}), {.aggregation = VariableAggregation::kSum});
  const auto call = [&] { strategy->run([&] { (replica_id() == 0 ? a : b).assign(at::ones({})); }); };
  CHECK_FAILS((call(), 0), ErrorKind::kFailedPrecondition,
              "assign of variable 'a' where replica 1 calls assign of variable 'b'");
  CHECK(a.value().item<float>() == 0);
}

TEST_CASE("what does not fit a variable is refused by name, and leaves it", "[strategy]") {
  const auto strategy = strategy_named("mirrored_2");
  const auto scope = strategy->scope();
  DistributedVariable n = get_variable("n", at::zeros({2}, at::kLong), {.aggregation = VariableAggregation::kSum});
  CHECK_FAILS((n.assign(at::ones({3}, at::kLong)), 0), ErrorKind::kInvalidArgument, "'n' has shape [2]");
  CHECK_FAILS((n.assign_add(at::ones({2})), 0), ErrorKind::kInvalidArgument, "'n' holds Long and was given Float");
  CHECK_FAILS((n.scatter_add(at::tensor({2}), at::ones({1}, at::kLong)), 0), ErrorKind::kInvalidArgument,
              "out of range");
  CHECK_FAILS((n.scatter_add(at::tensor({0, 1}), at::ones({1}, at::kLong)), 0), ErrorKind::kInvalidArgument,
              "rows of shape [1]");
  CHECK(n.value().equal(at::zeros({2}, at::kLong)));
}

TEST_CASE("the copies of a metric's state add up, in a checkpoint too", "[strategy][S28][S32]") {
  const auto strategy = strategy_named("mirrored_3");
  const auto scope = strategy->scope();
  const DistributedVariable total = get_variable("total", at::zeros({}, at::kDouble), kSumOnRead);
  const auto count_up = [&] {
    strategy->run([&] { DistributedVariable(total).assign_add(at::full({}, replica_id() + 1.0, at::kDouble)); });
  };
  count_up();
  count_up();
  CHECK(total.value().item<double>() == 12);
  CHECK(total.components()[2].item<double>() == 6);
  const belfry::TensorDict saved = strategy->store().snapshot();
  CHECK(saved["total"].item<double>() == 12);
  count_up();
  strategy->store().restore(saved, "a checkpoint");
  CHECK(total.value().item<double>() == 12);
  count_up();
  CHECK(total.value().item<double>() == 18);
}

TEST_CASE("a total survives a change of the number of replicas", "[strategy][S28][S32]") {
  belfry::TensorDict saved{{"total", at::full({}, 12.0, at::kDouble)}, {"global_step", at::zeros({}, at::kLong)}};
  const auto strategy = strategy_named("mirrored_2");
  strategy->store().restore(saved, "a checkpoint");
  const auto scope = strategy->scope();
  DistributedVariable total = get_variable("total", at::zeros({}, at::kDouble), kSumOnRead);
  CHECK(total.value().item<double>() == 12);
  strategy->run([&] { total.assign_add(at::ones({}, at::kDouble)); });
  CHECK(total.value().item<double>() == 14);
}

TEST_CASE("a variable is not assigned from outside while replicas run", "[strategy]") {
  const auto strategy = strategy_named("mirrored_2");
  const auto scope = strategy->scope();
  DistributedVariable w = get_variable("w", at::zeros({}), {.aggregation = VariableAggregation::kSum});
  std::string message;
  strategy->run([&] {
    if (replica_id() != 0) return;
    std::thread([&] { message = belfry::testing::failure([&] { w.assign(at::ones({})); }).message; }).join();
  });
  CHECK_THAT(message, Contains("'w' was assigned outside the replicas while they run"));
  strategy->run(
      [&] { belfry::get_replica_context()->merge_call([&](belfry::Strategy&) { w.assign(at::full({}, 4.0)); }); });
  CHECK(w.value().item<float>() == 4);  // a merge function speaks for all
}

TEST_CASE("a variable of one strategy is refused in a replica of another", "[strategy]") {
  const auto strategy = strategy_named("mirrored_2");
  const auto other = strategy_named("central_2");
  const DistributedVariable w = [&] {
    const auto scope = strategy->scope();
    return get_variable("w", at::zeros({}));
  }();
  const auto use = [&] { other->run([&] { return w.value(); }); };
  CHECK_FAILS((use(), 0), ErrorKind::kFailedPrecondition, "'w' of MirroredStrategy");
}

TEST_CASE("a total of integers is divided among the copies without a rest", "[strategy][S28]") {
  const auto strategy = strategy_named("mirrored_2");
  const VariableOptions total{.synchronization = VariableSynchronization::kOnRead,
                              .aggregation = VariableAggregation::kSum};
  DistributedVariable count = strategy->run([&] { return get_variable("count", at::zeros({}, at::kLong), total); })[0];
  const int64_t large = (int64_t{1} << 40) + 1;
  for (const int64_t number : {int64_t{5}, int64_t{-5}, large}) {
    count.assign(at::full({}, number, at::kLong));
    CHECK(count.value().item<int64_t>() == number);
    count.assign(number);
    CHECK(count.value().item<int64_t>() == number);
  }
  const auto other = strategy_named("mirrored_3");
  other->store().restore(strategy->store().snapshot(), "memory");
  CHECK(other->run([&] { return get_variable("count", at::zeros({}, at::kLong), total); })[0].value().item<int64_t>() ==
        large);
}

TEST_CASE("what is read as a sum begins in checkpoints as it reads", "[strategy][S28]") {
  const auto strategy = strategy_named("mirrored_2");
  const auto scope = strategy->scope();
  const DistributedVariable sum =
      get_variable("sum", at::full({}, 3.0),
                   {.synchronization = VariableSynchronization::kOnRead, .aggregation = VariableAggregation::kSum});
  CHECK(sum.value().item<double>() == 6);  // each copy begins with 3
  CHECK(strategy->store().snapshot()["sum"].item<double>() == 6);
}

TEST_CASE("what a merge function writes is seen by every replica", "[strategy][X10][S28]") {
  for (const char* name : {"mirrored_3", "central_2", "one_device"}) {
    const auto strategy = strategy_named(name);
    DistributedVariable w = strategy->run([] { return get_variable("w", at::ones({2})); })[0];
    const auto seen = strategy->run([&] {
      const at::Tensor before = w.value().sum();
      belfry::get_replica_context()->merge_call([&](belfry::Strategy&) { w.assign(at::full({2}, 5.0)); });
      return std::pair(before.detach(), w.value().detach().clone());
    });
    for (const auto& [before, after] : seen) {
      CHECK(before.item<double>() == 2);
      CHECK(after.equal(at::full({2}, 5.0)));
    }
    // A graph from before the write would give the gradient of the new value.
    CHECK_THROWS(strategy->run([&] {
      const at::Tensor loss = w.value().square().sum();
      belfry::get_replica_context()->merge_call([&](belfry::Strategy&) { w.assign(at::full({2}, 7.0)); });
      loss.backward();
    }));
  }
}

TEST_CASE("a fraction is not assigned to a variable of integers", "[strategy]") {
  const auto strategy = strategy_named("one_device");
  const auto scope = strategy->scope();
  DistributedVariable count = get_variable("count", at::zeros({}, at::kLong));
  CHECK_FAILS(count.assign(1.5), ErrorKind::kInvalidArgument, "was given 1.5, of which a part would be lost");
  count.assign(2.0);
  count.assign_add((int64_t{1} << 53) + 1);
  CHECK(count.value().item<int64_t>() == (int64_t{1} << 53) + 3);
}

TEST_CASE("random initial values depend on seed and name alone, for copies too", "[strategy][S28]") {
  const auto values = [](uint64_t seed, bool in_run) {
    at::manual_seed(static_cast<uint64_t>(rand()));  // NOLINT: whatever the process drew before
    const auto strategy = strategy_named("mirrored_2", seed);
    const auto make = [] {
      return get_variable(
          "noise", [] { return at::randn({3}); },
          {.synchronization = VariableSynchronization::kOnRead, .aggregation = VariableAggregation::kMean});
    };
    if (in_run) return strategy->run(make)[0].value();
    const auto scope = strategy->scope();
    return make().value();
  };
  CHECK(values(1, false).equal(values(1, true)));
  CHECK_FALSE(values(1, false).equal(values(2, false)));
}
