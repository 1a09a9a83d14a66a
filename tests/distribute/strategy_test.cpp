#include "distribute/strategy.h"

#include <ATen/ATen.h>

#include <atomic>
#include <chrono>
#include <map>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <tuple>

#include "distribute/distributed_variable.h"
#include "distribute/step_context.h"
#include "tests/distribute/strategies.h"
#include "tests/support/check_fails.h"
#include "tests/testing.h"

using belfry::CentralStorageStrategy;
using belfry::ErrorKind;
using belfry::get_replica_context;
using belfry::MirroredStrategy;
using belfry::OneDeviceStrategy;
using belfry::PerReplica;
using belfry::testing::InTurn;
using belfry::testing::replica_id;
using belfry::testing::strategy_named;

namespace {

struct Scores {
  at::Tensor loss;
  std::vector<at::Tensor> parts;
};
auto nest_fields(Scores& scores) { return std::tie(scores.loss, scores.parts); }

template <class D>
concept Mappable = requires(D data) {
  data.map([](belfry::Batch batch) { return batch; });
};

}  // namespace

TEST_CASE("CentralStorageStrategy chooses the parameter device as TensorFlow's", "[strategy][C1][C2][C3]") {
  const auto devices_of = [](std::vector<std::string> compute, const std::string& parameter) {
    CentralStorageStrategy strategy({.compute_devices = std::move(compute), .parameter_device = parameter});
    strategy.store().get_or_create("w", belfry::VariableKind::kParameter, at::ones({1}));
    strategy.run([] {});
    CHECK(strategy.store().find("w")->device_name() == strategy.parameter_device().name);
    return std::pair(names_of(strategy.worker_devices()), strategy.parameter_device().name);
  };
  using Names = std::vector<std::string>;
  CHECK(devices_of({"cpu:1"}, "") == std::pair(Names{"cpu:1"}, std::string("cpu:1")));
  CHECK(devices_of({"cpu:1", "cpu:2"}, "") == std::pair(Names{"cpu:1", "cpu:2"}, std::string("cpu:0")));
  CHECK(devices_of({"cpu:1", "cpu:2"}, "cpu:2") == std::pair(Names{"cpu:1", "cpu:2"}, std::string("cpu:2")));
  CHECK(devices_of({"cpu:1"}, "cpu:3") == std::pair(Names{"cpu:1"}, std::string("cpu:3")));
  if (belfry::default_devices()[0] == "cpu:0") {
    CHECK(CentralStorageStrategy().num_replicas_in_sync() == 1);
    CHECK(MirroredStrategy().num_replicas_in_sync() == static_cast<int>(std::thread::hardware_concurrency()));
  }
}

TEST_CASE("devices that are twice or unknown are refused by name", "[strategy]") {
  CHECK_FAILS(MirroredStrategy({.devices = {"cpu:1", "CPU:1"}}), ErrorKind::kInvalidArgument, "cpu:1 is given twice");
  CHECK_FAILS(OneDeviceStrategy("tpu:0"), ErrorKind::kInvalidArgument, "tpu:0");
  CHECK_FAILS(OneDeviceStrategy(""), ErrorKind::kInvalidArgument, "");
}

TEST_CASE("one device runs the function on the caller's thread", "[strategy][S1][S2]") {
  OneDeviceStrategy strategy("cpu:0");
  const auto caller = std::this_thread::get_id();
  int64_t sum = 0;
  for (int64_t x = 0; x < 10; ++x) {
    const auto doubled = strategy.run(
        [&](int64_t value) {
          CHECK(std::this_thread::get_id() == caller);
          return 2 * value;
        },
        x);
    CHECK(doubled.is_same_on_all());
    sum += strategy.reduce("SUM", doubled).item<int64_t>();
  }
  CHECK(sum == 90);
}

TEST_CASE("a replica is given its component at any depth, and all else whole", "[strategy][S25][S40][S43][X10]") {
  for (const char* name : {"mirrored_2", "central_2"}) {
    const auto strategy = strategy_named(name);
    const at::Tensor whole = at::full({2}, 10.0);
    const PerReplica<at::Tensor> each({at::full({2}, 1.0), at::full({2}, 2.0)});
    const std::vector<std::pair<PerReplica<at::Tensor>, int>> nested{{each, 3}};
    const std::map<std::string, std::tuple<std::string, PerReplica<at::Tensor>>> named{{"a", {"text", each}}};
    const std::optional<PerReplica<at::Tensor>> present = each, absent;
    const auto results = strategy->run(
        [&](const at::Tensor& a, const std::vector<std::pair<at::Tensor, int>>& list,
            const std::map<std::string, std::tuple<std::string, at::Tensor>>& map,
            const std::optional<at::Tensor>& some, const std::optional<at::Tensor>& none) {
          const InTurn turn;
          CHECK(a.is_same(whole));
          CHECK(std::get<0>(map.at("a")) == "text");
          CHECK_FALSE(none.has_value());
          return a + list[0].second * list[0].first + std::get<1>(map.at("a")) + *some;
        },
        whole, nested, named, present, absent);
    CHECK(results[0].equal(at::full({2}, 15.0)));
    CHECK(results[1].equal(at::full({2}, 20.0)));
  }
}

TEST_CASE("what all replicas return alike is known to be the same", "[strategy][S44][S45]") {
  MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1"}});
  const at::Tensor captured = at::ones({1});
  CHECK(strategy.run([&] { return captured; }).is_same_on_all());
  CHECK_FALSE(strategy.run([&] { return captured.clone(); }).is_same_on_all());
  CHECK(strategy.run([] { return 2 * get_replica_context()->num_replicas_in_sync(); }).is_same_on_all());
  CHECK_FALSE(strategy.run([] { return replica_id(); }).is_same_on_all());
  CHECK(strategy
            .run([] {
              return get_replica_context()->all_reduce("sum", get_replica_context()->replica_id_in_sync_group());
            })
            .map([](const at::Tensor& sum) { return sum.item<int>(); })
            .components() == std::vector<int>{1, 1});
}

TEST_CASE("a PerReplica of another size is refused", "[strategy][S40]") {
  MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1"}});
  const PerReplica<at::Tensor> three({at::ones({1}), at::ones({1}), at::ones({1})});
  const PerReplica<at::Tensor> one({at::ones({1})});
  const auto identity = [](const at::Tensor& x) { return x; };
  CHECK_FAILS(strategy.run(identity, three), ErrorKind::kInvalidArgument, "3 components was given to 2 replicas");
  CHECK_FAILS(strategy.run(identity, one), ErrorKind::kInvalidArgument, "1 components was given to 2 replicas");
  CHECK_FAILS(strategy.reduce("sum", three), ErrorKind::kInvalidArgument, "3 components");
  CHECK_FAILS(strategy.gather(one, 0), ErrorKind::kInvalidArgument, "1 components");
  CHECK_FAILS(three[3], ErrorKind::kInvalidArgument, "component 3 of 3");
  CHECK_FAILS(PerReplica<int>({}), ErrorKind::kInvalidArgument, "none was given");
}

TEST_CASE("replicas run at the same time", "[strategy]") {
  for (const char* name : {"mirrored_2", "central_3"}) {
    const auto strategy = strategy_named(name);
    std::atomic<int> there{0};
    const auto seen = strategy->run([&] {
      ++there;
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      while (there < strategy->num_replicas_in_sync() && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::yield();
      }
      return there.load();
    });
    for (const int count : seen) CHECK(count == strategy->num_replicas_in_sync());  // nobody waited for another to end
  }
}

TEST_CASE("an exception of a replica comes out of the run, and the next one works", "[strategy][S25][X8]") {
  MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1", "cpu:2"}});
  const auto broken = [&] {
    strategy.run([] {
      if (replica_id() == 1) throw std::out_of_range("out of paper");
      get_replica_context()->all_reduce("sum", at::ones({1}));
    });
  };
  CHECK_THROWS_WITH(broken(), "out of paper");
  CHECK_THROWS_AS(broken(), std::out_of_range);
  const auto sums = strategy.run([] { return get_replica_context()->all_reduce("sum", at::ones({1})); });
  CHECK(sums[2].item<float>() == 3);
}

TEST_CASE("a run inside a merge function is refused", "[strategy]") {
  MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1"}});
  const auto nested = [&] {
    strategy.run([] { get_replica_context()->merge_call([](belfry::Strategy& s) { s.run([] {}); }); });
  };
  CHECK_FAILS((nested(), 0), ErrorKind::kFailedPrecondition, "another run of it");
  CHECK_NOTHROW(strategy.run([] {}));
}

TEST_CASE("structures are reduced and gathered leaf by leaf", "[strategy][C9][S19][S37]") {
  const auto strategy = strategy_named("mirrored_2");
  const auto scores = strategy->run([] {
    const double mine = replica_id() + 1;
    return Scores{at::full({}, mine), {at::full({2}, mine), at::full({1}, 10 * mine, at::kLong)}};
  });
  const Scores sum = strategy->reduce("SUM", scores);
  CHECK(sum.loss.item<double>() == 3);
  CHECK(sum.parts[0].equal(at::full({2}, 3.0)));
  CHECK(sum.parts[1].item<int64_t>() == 30);
  CHECK(strategy->reduce(belfry::ReduceOp::kMean, scores).parts[1].item<double>() == 15);
  CHECK(strategy->experimental_local_results(scores).size() == 2);
  const auto parts = scores.map([](const Scores& s) { return s.parts; });
  CHECK(strategy->gather(parts, 0)[0].equal(at::tensor({1.0, 1.0, 2.0, 2.0})));
  const PerReplica<std::vector<at::Tensor>> uneven({{at::ones({1})}, {at::ones({1}), at::ones({1})}});
  CHECK_FAILS(strategy->reduce("sum", uneven), ErrorKind::kInvalidArgument,
              "replica 0 has [*] and replica 1 has [*, *]");
}

TEST_CASE("numbers are reduced like scalars", "[strategy][S46]") {
  const auto strategy = strategy_named("central_3");
  const auto ids = strategy->run([] { return replica_id(); });
  CHECK(strategy->reduce("sum", ids).item<int64_t>() == 3);
  CHECK(strategy->reduce("mean", ids).item<double>() == 1);
  CHECK_FAILS(strategy->reduce("max", ids), ErrorKind::kInvalidArgument, "'max': SUM or MEAN");
}

TEST_CASE("the mean over uneven replicas counts every row once", "[strategy][S48]") {
  const auto strategy = strategy_named("mirrored_3");
  const PerReplica<at::Tensor> rows(
      {at::tensor({0.0, 1.0, 2.0, 3.0}), at::tensor({4.0, 5.0}), at::zeros({0}, at::kDouble)});
  CHECK(strategy->reduce("MEAN", rows, 0).item<double>() == 2.5);
  CHECK(strategy->reduce("SUM", rows, -1).item<double>() == 15);
  CHECK_FAILS(strategy->reduce("MEAN", rows, 1), ErrorKind::kInvalidArgument, "axis 1 is out of range");
  CHECK_FAILS(strategy->reduce("MEAN", rows, {0, -1}), ErrorKind::kInvalidArgument, "given twice");
  CHECK_FAILS(strategy->reduce("MEAN", rows), ErrorKind::kInvalidArgument, "replica 0 has shape [4]");
  CHECK_FAILS(strategy->reduce("SUM", rows.map([](const at::Tensor& t) { return t > 1; }), 0),
              ErrorKind::kInvalidArgument, "bool");
}

TEST_CASE("a PerReplica is printed with its replicas' numbers", "[strategy][X16]") {
  std::ostringstream out;
  out << PerReplica<int>({7, 8});
  CHECK(out.str() == "PerReplica:{\n  0: 7,\n  1: 8\n}");
}

TEST_CASE("random numbers of a run depend on the seed, the replica and the run", "[strategy][random]") {
  const auto draw = [](uint64_t seed, int runs) {
    const auto strategy = strategy_named("mirrored_2", seed);
    std::vector<at::Tensor> drawn;
    for (int i = 0; i < runs; ++i) {
      for (const at::Tensor& value : strategy->run([] { return at::randn({4}); })) drawn.push_back(value);
    }
    return drawn;
  };
  const auto first = draw(3, 2);
  for (size_t i = 0; i < first.size(); ++i) {
    for (size_t k = 0; k < i; ++k) CHECK_FALSE(first[i].equal(first[k]));
    CHECK(first[i].equal(draw(3, 2)[i]));
    CHECK_FALSE(first[i].equal(draw(4, 2)[i]));
  }
}

TEST_CASE("assignments of a run are committed when all replicas have ended", "[strategy]") {
  const auto strategy = strategy_named("mirrored_2");
  auto& count = strategy->store().get_or_create("count", belfry::VariableKind::kState, at::zeros({}));
  strategy->run([&] { belfry::StepContext::current()->assign_add("count", at::full({}, replica_id() + 1.0)); });
  CHECK(count.value().item<double>() == 3);
  const auto failing = [&] {
    strategy->run([&] {
      belfry::StepContext::current()->assign_add("count", at::ones({}));
      if (replica_id() == 1) throw std::runtime_error("stop");
    });
  };
  CHECK_THROWS_WITH(failing(), "stop");
  CHECK(count.value().item<double>() == 3);
}

TEST_CASE("the default strategy runs its function here, and owns nothing", "[strategy]") {
  CHECK(belfry::get_strategy().run([] { return get_replica_context()->replica_id(); })[0] == 0);
  CHECK_FAILS(&belfry::get_strategy().store(), ErrorKind::kFailedPrecondition, "no variables");
  CHECK(belfry::get_strategy().reduce("sum", at::ones({2}), 0).item<float>() == 2);
}

TEST_CASE("the old name of run runs", "[strategy][C8]") {
  const auto strategy = strategy_named("mirrored_2");
  const auto results = strategy->experimental_run_v2([](int x) { return x + replica_id(); }, 5);
  CHECK(results.components() == std::vector<int>{5, 6});
}

TEST_CASE("a sum over replicas and then over rows is that of all rows", "[strategy][C11][S47]") {
  const auto strategy = strategy_named("mirrored_2");
  const auto range = belfry::Dataset::from_tensors(at::arange(10));
  double total = 0;
  for (const auto& step : strategy->experimental_distribute_dataset(range.batch(4))) {
    const auto rows = strategy->run([](const belfry::Batch& batch) { return batch.features.tensor(); }, step);
    total += strategy->reduce("SUM", rows, 0).item<double>();
  }
  CHECK(total == 45);
  // The same without batch() is no data set of a strategy.
  CHECK_FAILS(strategy->experimental_distribute_dataset(range).iterate().next(), ErrorKind::kInvalidArgument, "batch");
}

TEST_CASE("ids of replicas keep their type in a sum", "[strategy][S46]") {
  const auto strategy = strategy_named("mirrored_2");
  const at::Tensor sum =
      strategy->reduce("SUM", strategy->run([] { return get_replica_context()->replica_id_in_sync_group(); }));
  CHECK(sum.scalar_type() == at::kInt);
  CHECK(sum.item<int>() == 1);
}

TEST_CASE("one device's variables are on it", "[strategy][S1]") {
  OneDeviceStrategy strategy("cpu:1");
  strategy.run([] { belfry::get_variable("w", at::ones({1})); });
  CHECK(strategy.parameter_device().name == "cpu:1");
  CHECK(strategy.store().find("w")->value().device().is_cpu());
}

TEST_CASE("what is bool on each replica can be read", "[strategy]") {
  const auto strategy = strategy_named("mirrored_2");
  const auto firsts = strategy->run([] { return replica_id() == 0; });
  CHECK(firsts[0]);
  CHECK_FALSE(firsts.at(1));
  CHECK(strategy->run([](bool first) { return !first; }, firsts)[1]);
  CHECK_FALSE(firsts.is_same_on_all());
}

TEST_CASE("structures are the same where their tensors are", "[strategy][S44]") {
  using Pair = std::pair<at::Tensor, double>;
  const at::Tensor x = at::ones({2}), y = at::ones({2});
  CHECK(PerReplica<std::vector<at::Tensor>>({{x, y}, {x, y}}).is_same_on_all());
  CHECK_FALSE(PerReplica<std::vector<at::Tensor>>({{x, y}, {x, x}}).is_same_on_all());
  CHECK(PerReplica<Pair>({{x, 1}, {x, 1}}).is_same_on_all());
  CHECK_FALSE(PerReplica<Pair>({{x, 1}, {x, 2}}).is_same_on_all());
  CHECK_FALSE(PerReplica<Pair>({{x, 1}, {y, 1}}).is_same_on_all());
  CHECK(PerReplica<Scores>({{x, {y}}, {x, {y}}}).is_same_on_all());
  CHECK(PerReplica<belfry::TensorDict>({{{"a", x}}, {{"a", x}}}).is_same_on_all());
  CHECK_FALSE(PerReplica<belfry::TensorDict>({{{"a", x}}, {{"b", x}}}).is_same_on_all());
  CHECK(PerReplica<std::string>({"a", "a"}).is_same_on_all());
}

TEST_CASE("sums are added up in the order of replicas", "[strategy][S24]") {
  const auto strategy = strategy_named("mirrored_3");
  const auto sum = [&](float a, float b, float c) {
    const PerReplica<at::Tensor> values({at::full({}, a), at::full({}, b), at::full({}, c)});
    return strategy->reduce("SUM", values).item<float>();
  };
  CHECK(sum(1e8F, -1e8F, 1) == 1);
  CHECK(sum(1, 1e8F, -1e8F) == 0);
}

TEST_CASE("a mean of half precision is added up in float32", "[strategy][C9][X3]") {
  const auto strategy = strategy_named("mirrored_3");
  const auto check = [&](const std::vector<double>& numbers, double mean, at::ScalarType dtype) {
    INFO(dtype);
    std::vector<at::Tensor> components;
    for (const double number : numbers) components.push_back(at::full({2}, number, dtype));
    const PerReplica<at::Tensor> values(std::move(components));
    const at::Tensor expected = at::full({2}, mean, dtype);
    CHECK(strategy->reduce("MEAN", values).equal(expected));
    CHECK(strategy->reduce("MEAN", values, 0).equal(expected[0]));
    CHECK(strategy->reduce("MEAN", values, std::vector<int64_t>()).equal(expected));
    const auto everywhere =
        strategy->run([](const at::Tensor& mine) { return get_replica_context()->all_reduce("MEAN", mine); }, values);
    CHECK(everywhere[2].equal(expected));
    CHECK(strategy->reduce("SUM", values).scalar_type() == dtype);
  };
  check({60000, 60000, 60000}, 60000, at::kHalf);  // two of them are more than it holds
  check({256, 1, 1}, 86, at::kBFloat16);           // 257 is none of its numbers
}

TEST_CASE("a device goes by one name however it is spelled", "[strategy]") {
  for (const auto& [one, other] : {std::pair{"cpu", "cpu:0"}, {"cpu:1", "cpu:01"}, {"/CPU:2", "cpu:2"}}) {
    CHECK_FAILS(MirroredStrategy({.devices = {one, other}}), ErrorKind::kInvalidArgument, "is given twice");
  }
}

TEST_CASE("a PerReplica is no tensor, and a distributed data set is only gone through", "[strategy][S15]") {
  STATIC_REQUIRE_FALSE(std::is_convertible_v<PerReplica<at::Tensor>, at::Tensor>);
  STATIC_REQUIRE_FALSE(Mappable<belfry::DistributedDataset>);
  STATIC_REQUIRE(Mappable<belfry::Dataset>);
}
