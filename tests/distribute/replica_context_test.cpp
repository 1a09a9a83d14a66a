#include "distribute/replica_context.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <chrono>
#include <limits>
#include <map>
#include <stdexcept>
#include <thread>

#include "core/tensor_dict.h"
#include "distribute/strategy.h"
#include "tests/distribute/strategies.h"
#include "tests/support/check_fails.h"
#include "tests/testing.h"

using belfry::ErrorKind;
using belfry::get_replica_context;
using belfry::PerReplica;
using belfry::ReduceOp;
using belfry::ReplicaContext;
using belfry::Strategy;
using belfry::TensorDict;
using belfry::testing::replica_id;
using belfry::testing::strategy_named;
using Catch::Contains;

namespace {

// What each replica's call ended with: replicas are asked one by one, so that none hides another's error.
std::vector<std::string> messages_of(Strategy& strategy, const std::function<void(ReplicaContext&)>& call) {
  std::vector<std::string> messages(static_cast<size_t>(strategy.num_replicas_in_sync()));
  strategy.run([&] {
    const auto failure = belfry::testing::failure_of([&] { call(*get_replica_context()); });
    if (failure) messages[static_cast<size_t>(replica_id())] = failure->message;
  });
  return messages;
}

at::Tensor mine(double factor = 1) { return at::full({2}, factor * (replica_id() + 1)); }

}  // namespace

TEST_CASE("all_reduce of a TensorDict keeps names and string entries", "[strategy][X4]") {
  const auto strategy = strategy_named("mirrored_2");
  const auto results = strategy->run([] {
    TensorDict dict{{"a", mine()}, {"words", belfry::StringTensor({"word"})}, {"b", mine(10)}};
    return get_replica_context()->all_reduce("SUM", dict);
  });
  for (const TensorDict& result : results) {
    CHECK(result["a"].equal(at::full({2}, 3.0)));
    CHECK(result["b"].equal(at::full({2}, 30.0)));
    CHECK(result.strings("words").numel() == 1);
  }
}

TEST_CASE("every replica has a result of its own that it may write to", "[strategy][X3]") {
  const auto strategy = strategy_named("mirrored_3");
  for (int round = 0; round < 50; ++round) {
    const auto results = strategy->run([] {
      at::Tensor value = mine();
      const at::Tensor sum = get_replica_context()->all_reduce(ReduceOp::kSum, value);
      value.fill_(-1);  // nobody reads it any more
      return sum.add_(replica_id());
    });
    for (int i = 0; i < 3; ++i) CHECK(results[static_cast<size_t>(i)].equal(at::full({2}, 6.0 + i)));
  }
}

TEST_CASE("the mean of integers is float64", "[strategy][X3]") {
  const auto strategy = strategy_named("mirrored_2");
  const auto means = strategy->run(
      [] { return get_replica_context()->all_reduce("mean", get_replica_context()->replica_id_in_sync_group()); });
  CHECK(means[0].scalar_type() == at::kDouble);
  CHECK(means[1].item<double>() == 0.5);
}

TEST_CASE("replicas that ask for different things are all told of both", "[strategy][X8]") {
  const auto strategy = strategy_named("mirrored_2");
  const auto check = [&](const std::function<void(ReplicaContext&)>& call, const std::string& first,
                         const std::string& second) {
    for (const std::string& message : messages_of(*strategy, call)) {
      CHECK_THAT(message, Contains("replica 0") && Contains("replica 1") && Contains(first) && Contains(second));
    }
  };
  check([](ReplicaContext& ctx) { ctx.all_reduce(replica_id() == 0 ? ReduceOp::kSum : ReduceOp::kMean, mine()); },
        "all_reduce SUM", "all_reduce MEAN");
  check([](ReplicaContext& ctx) { replica_id() == 0 ? ctx.all_reduce("sum", mine()) : ctx.all_gather(mine(), 0); },
        "all_reduce SUM", "all_gather along axis 0");
  check([](ReplicaContext& ctx) { ctx.all_gather(mine(), replica_id()); }, "axis 0", "axis 1");
  check([](ReplicaContext& ctx) { ctx.all_reduce("sum", at::ones({replica_id() + 1})); }, "shape [1]", "shape [2]");
  check([](ReplicaContext& ctx) { ctx.all_reduce("sum", at::ones({2}, replica_id() == 0 ? at::kFloat : at::kDouble)); },
        "Float", "Double");
  check(
      [](ReplicaContext& ctx) {
        ctx.all_reduce("sum", std::vector<at::Tensor>(static_cast<size_t>(replica_id() + 1), mine()));
      },
      "[*]", "[*, *]");
  const auto results = strategy->run([] { return get_replica_context()->all_reduce("sum", mine()); });
  CHECK(results[0].equal(at::full({2}, 3.0)));
}

TEST_CASE("a replica that has returned is named to those who wait for it", "[strategy][X8]") {
  const auto strategy = strategy_named("mirrored_3");
  const auto call = [](ReplicaContext& ctx) {
    if (replica_id() != 1) ctx.all_reduce("sum", mine());
  };
  const auto messages = messages_of(*strategy, call);
  CHECK_THAT(messages[0], Contains("all_reduce SUM") && Contains("replica 1 has returned"));
  CHECK_THAT(messages[2], Contains("replica 1 has returned"));
  CHECK(messages[1].empty());
}

TEST_CASE("a replica that does not come is named after the timeout", "[strategy][X7]") {
  const auto strategy = strategy_named("mirrored_2");
  const auto call = [](ReplicaContext& ctx) {
    if (replica_id() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(400));
    ctx.all_reduce("sum", mine(), {.timeout_seconds = 0.05});
  };
  const auto messages = messages_of(*strategy, call);
  CHECK_THAT(messages[0], Contains("replica 1 did not come within timeout_seconds"));
  CHECK_FALSE(messages[1].empty());
  CHECK_NOTHROW(strategy->run([] { get_replica_context()->all_reduce("sum", mine(), {.timeout_seconds = 60.0}); }));
}

TEST_CASE("a strategy's timeout counts where a call has none", "[strategy][X7]") {
  belfry::MirroredStrategy strategy(
      {.devices = {"cpu:0", "cpu:1"}, .communication_options = {.timeout_seconds = 0.05}});
  const auto call = [](ReplicaContext& ctx) {
    if (replica_id() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(400));
    ctx.merge_call([](Strategy&) {});
  };
  CHECK_THAT(messages_of(strategy, call)[0], Contains("replica 1 did not come"));
}

TEST_CASE("options that can never be right are refused", "[strategy][X7]") {
  const auto strategy = strategy_named("mirrored_2");
  strategy->run([] {
    const belfry::testing::InTurn turn;
    ReplicaContext& ctx = *get_replica_context();
    CHECK_FAILS(ctx.all_reduce("sum", mine(), {.bytes_per_pack = -1}), ErrorKind::kInvalidArgument,
                "bytes_per_pack is -1");
    CHECK_FAILS(ctx.all_gather(mine(), 0, {.timeout_seconds = 0.0}), ErrorKind::kInvalidArgument,
                "timeout_seconds is 0");
  });
  CHECK_FAILS(belfry::MirroredStrategy({.devices = {"cpu:0"}, .communication_options = {.bytes_per_pack = -2}}),
              ErrorKind::kInvalidArgument, "bytes_per_pack is -2");
}

TEST_CASE("NCCL is refused where there are no GPUs for it", "[strategy][X7]") {
  using belfry::CommunicationImplementation;
  CHECK_FAILS(
      belfry::MirroredStrategy({.devices = {"cpu:0", "cpu:1"},
                                .communication_options = {.implementation = CommunicationImplementation::kNccl}}),
      ErrorKind::kInvalidArgument, "NCCL was asked for, and cpu:0 is no GPU");
  const auto strategy = strategy_named("mirrored_2");
  CHECK_FAILS(strategy->run([] {
    get_replica_context()->all_reduce("sum", mine(), {.implementation = CommunicationImplementation::kNccl});
  }),
              ErrorKind::kUnimplemented,
              "cannot add up the replicas' tensors: they are not each on a GPU of their own");
  const auto sums = strategy->run([] {
    return get_replica_context()->all_reduce("sum", at::ones({1}),
                                             {.implementation = CommunicationImplementation::kSharedMemory});
  });
  CHECK(sums[1].equal(at::full({1}, 2.0)));
}

TEST_CASE("a call's options count before its strategy's, one by one", "[strategy][X7]") {
  const belfry::MirroredStrategy strategy(
      {.devices = {"cpu:0", "cpu:1"}, .communication_options = {.bytes_per_pack = 100, .timeout_seconds = 5.0}});
  CHECK(strategy.options_of({}).bytes_per_pack == 100);
  CHECK(strategy.options_of({.bytes_per_pack = 7}).bytes_per_pack == 7);
  CHECK(strategy.options_of({.bytes_per_pack = 7}).timeout_seconds == 5.0);
  CHECK(strategy.options_of({.timeout_seconds = 1.0}).timeout_seconds == 1.0);
  CHECK(strategy.options_of({}).implementation == belfry::CommunicationImplementation::kAuto);
}

TEST_CASE("all_gather takes uneven and empty pieces", "[strategy][X15]") {
  const auto strategy = strategy_named("mirrored_3");
  const auto results = strategy->run([] {
    const int64_t rows = replica_id() == 1 ? 0 : replica_id() + 1;
    return get_replica_context()->all_gather(at::full({rows, 2}, 1.0 * replica_id()), 0);
  });
  for (const at::Tensor& result : results) {
    CHECK(result.sizes() == at::IntArrayRef({4, 2}));
    CHECK(result.sum().item<double>() == 12);
  }
}

TEST_CASE("a gradient asked for outside its run is refused", "[strategy][X5]") {
  const auto strategy = strategy_named("mirrored_2");
  const auto sums =
      strategy->run([] { return get_replica_context()->all_reduce("sum", mine().requires_grad_()).sum(); });
  CHECK_THROWS_WITH(sums[0].backward(), Contains("outside the run"));
}

TEST_CASE("a merge function runs once, between the replicas", "[strategy][X10]") {
  const auto strategy = strategy_named("central_3");
  int calls = 0;
  const auto results = strategy->run([&] {
    return get_replica_context()->merge_call(
        [&](Strategy& s, const PerReplica<at::Tensor>& values, const PerReplica<std::string>& words) {
          ++calls;
          CHECK(&s == strategy.get());
          CHECK(belfry::in_cross_replica_context());
          CHECK(get_replica_context() == nullptr);
          CHECK(words.is_same_on_all());
          CHECK_FALSE(values.is_same_on_all());
          return std::pair(s.reduce("sum", values), words[0]);
        },
        mine(), std::string("word"));
  });
  CHECK(calls == 1);
  for (const auto& [sum, word] : results) {
    CHECK(sum.equal(at::full({2}, 6.0)));
    CHECK(word == "word");
  }
}

TEST_CASE("of a PerReplica that a merge function returns each replica gets its component", "[strategy][X10]") {
  const auto strategy = strategy_named("mirrored_2");
  const auto swapped = strategy->run([] {
    return get_replica_context()->merge_call(
        [](Strategy&, const PerReplica<int>& ids) {
          return PerReplica<int>({ids[1], ids[0]});
        },
        replica_id());
  });
  CHECK(swapped.components() == std::vector<int>{1, 0});
  const auto wrong = [&] {
    strategy->run([] { get_replica_context()->merge_call([](Strategy&) { return PerReplica<int>({1, 2, 3}); }); });
  };
  CHECK_FAILS((wrong(), 0), ErrorKind::kInvalidArgument, "PerReplica of 3 components");
}

TEST_CASE("an exception of a merge function ends the run", "[strategy][X10]") {
  const auto strategy = strategy_named("mirrored_3");
  const auto broken = [&] {
    strategy->run([] { get_replica_context()->merge_call([](Strategy&) { throw std::runtime_error("no merge"); }); });
  };
  CHECK_THROWS_WITH(broken(), "no merge");
  CHECK_NOTHROW(strategy->run([] { get_replica_context()->merge_call([](Strategy&) {}); }));
}

TEST_CASE("different merge functions are an error in every replica", "[strategy][X8]") {
  const auto strategy = strategy_named("mirrored_2");
  const auto call = [](ReplicaContext& ctx) {
    if (replica_id() == 0) {
      ctx.merge_call([](Strategy&) {});
    } else {
      ctx.merge_call([](Strategy&, const PerReplica<int>&) {}, 1);
    }
  };
  for (const std::string& message : messages_of(*strategy, call)) {
    CHECK_THAT(message, Contains("replica 0 calls merge_call") && Contains("replica 1 calls merge_call"));
  }
  const auto twice = [](ReplicaContext& ctx) {
    for (int i = 0; i <= replica_id(); ++i) ctx.merge_call([](Strategy&) {});
  };
  CHECK_THAT(messages_of(*strategy, twice)[1], Contains("replica 0 has returned"));
}

TEST_CASE("merge_call and collectives may stand in branches and loops", "[strategy]") {
  const auto strategy = strategy_named("mirrored_2");
  const auto results = strategy->run([] {
    at::Tensor sum = at::zeros({2});
    for (int i = 0; i < 20; ++i) {
      if (i % 3 == 0) sum += get_replica_context()->all_reduce("sum", mine(i));
      if (i % 5 == 0) get_replica_context()->merge_call([](Strategy&) {});
    }
    return sum;
  });
  CHECK(results[0].equal(results[1]));
  CHECK(results[0][0].item<double>() == 3 * (3 + 6 + 9 + 12 + 15 + 18));
}

TEST_CASE("numbers are reduced as scalars", "[strategy][X3][S45]") {
  const auto strategy = strategy_named("mirrored_2");
  const auto ids = strategy->run([] { return get_replica_context()->all_reduce("sum", replica_id()); });
  CHECK(ids[1].scalar_type() == at::kLong);
  CHECK(ids[1].item<int>() == 1);
  const auto mean = strategy->run([] { return get_replica_context()->all_reduce("mean", replica_id() + 0.5); });
  CHECK(mean[0].item<double>() == 1);
  STATIC_REQUIRE(belfry::internal::holds_numbers<std::pair<at::Tensor, double>>());
  STATIC_REQUIRE(belfry::internal::holds_numbers<std::vector<std::optional<int>>>());
  STATIC_REQUIRE_FALSE(belfry::internal::holds_numbers<std::map<std::string, at::Tensor>>());
  STATIC_REQUIRE_FALSE(belfry::internal::holds_numbers<belfry::TensorDict>());
}

TEST_CASE("one merge function on arguments of other types is an error in every replica", "[strategy][X8][X10]") {
  const auto strategy = strategy_named("mirrored_2");
  const auto first_size = [](belfry::Strategy&, const auto& values) { return values.size(); };
  CHECK_FAILS(strategy->run([&] {
    ReplicaContext& ctx = *get_replica_context();
    return replica_id() == 0 ? ctx.merge_call(first_size, 1) : ctx.merge_call(first_size, std::string("x"));
  }),
              ErrorKind::kFailedPrecondition, "merge_call");
}

TEST_CASE("a timeout longer than the clock can tell is none", "[strategy][X7]") {
  const auto strategy = strategy_named("mirrored_2");
  for (const double seconds : {1e10, std::numeric_limits<double>::infinity()}) {
    const auto sums = strategy->run([&] {
      if (replica_id() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      return get_replica_context()->all_reduce("sum", mine(), {.timeout_seconds = seconds});
    });
    CHECK(sums[0].equal(sums[1]));
  }
}

TEST_CASE("a context made by hand tells its replica, and has no others to meet", "[strategy][X1][X14]") {
  const auto strategy = strategy_named("mirrored_2");
  ReplicaContext context(*strategy, 1, nullptr);
  CHECK(context.replica_id_in_sync_group().item<int>() == 1);
  CHECK(&context.strategy() == strategy.get());
  CHECK_FAILS(context.all_reduce("sum", at::ones({1})), ErrorKind::kFailedPrecondition, "no others to meet");
  CHECK_FAILS(ReplicaContext(*strategy, 2, nullptr), ErrorKind::kInvalidArgument, "is 2; MirroredStrategy has 2");
  CHECK_FAILS(ReplicaContext(*strategy, -1, nullptr), ErrorKind::kInvalidArgument, "is -1");
}

TEST_CASE("sparse tensors are not gathered", "[strategy][X15]") {
  const auto strategy = strategy_named("mirrored_2");
  CHECK_FAILS(strategy->run([] { get_replica_context()->all_gather(at::eye(2).to_sparse(), 0); }),
              ErrorKind::kUnimplemented, "sparse");
  const belfry::PerReplica<at::Tensor> values({at::eye(2).to_sparse(), at::eye(2).to_sparse()});
  CHECK_FAILS(strategy->gather(values, 0), ErrorKind::kUnimplemented, "sparse");
}

TEST_CASE("backward passes in another order than the forward ones are an error, not swapped gradients",
          "[strategy][X5][X8]") {
  const auto strategy = strategy_named("mirrored_2");
  const auto gradients = [&](bool same_order) {
    return strategy->run([&] {
      const at::Tensor x = at::ones({}).set_requires_grad(true), y = at::ones({}).set_requires_grad(true);
      const at::Tensor a = get_replica_context()->all_reduce("sum", 2 * x);
      const at::Tensor b = get_replica_context()->all_reduce("sum", 3 * y);
      const bool first = same_order || replica_id() == 0;
      (first ? a : b).backward();
      (first ? b : a).backward();
      return std::pair(x.grad(), y.grad());
    });
  };
  const auto right = gradients(true);
  CHECK(right[1].first.item<double>() == 4);
  CHECK(right[1].second.item<double>() == 6);
  CHECK_FAILS(gradients(false), ErrorKind::kFailedPrecondition, "(collective 1 of the step)");
}
